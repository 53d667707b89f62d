#include "runtime/dialects/e2b/files/entry_info.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::e2b {
namespace {

using fs::EntryType;

TEST(E2bEntryInfo, ShowsModesAsGoDoes) {
  EXPECT_EQ(mode_text(EntryType::file, 0644), "-rw-r--r--");
  EXPECT_EQ(mode_text(EntryType::directory, 0755), "drwxr-xr-x");
  EXPECT_EQ(mode_text(EntryType::directory, 01777), "dtrwxrwxrwx");
  EXPECT_EQ(mode_text(EntryType::link, 0777), "Lrwxrwxrwx");
  EXPECT_EQ(mode_text(EntryType::file, 06755), "ugrwxr-xr-x");
  EXPECT_EQ(mode_text(EntryType::character_device, 0666), "Dcrw-rw-rw-");
  EXPECT_EQ(mode_text(EntryType::fifo, 0), "p---------");
}

TEST(E2bEntryInfo, AnUnknownUserOrGroupIsItsNumber) {
  Names names;
  EXPECT_EQ(names.user(0), "root");
  EXPECT_EQ(names.group(0), "root");
  EXPECT_EQ(names.user(3'999'999'999U), "3999999999");
  EXPECT_EQ(names.group(3'999'999'999U), "3999999999");
}

TEST(E2bEntryInfo, ReadsMetadataFromHeaders) {
  using protocol::Headers;
  const auto metadata = asked_metadata(Headers{{"X-Metadata-Author", "me"}, {"x-metadata-a", "1"}, {"X-Meta", "no"}});
  ASSERT_TRUE(metadata);
  EXPECT_EQ(*metadata, (Metadata{{"a", "1"}, {"author", "me"}}));
  EXPECT_TRUE(asked_metadata({})->empty());
  EXPECT_EQ(asked_metadata(Headers{{"X-Metadata-" + std::string(247, 'a'), "1"}}).error().code, Errc::invalid_field);
  EXPECT_EQ(asked_metadata(Headers{{"X-Metadata-a", std::string(5000, 'a')}}).error().code, Errc::invalid_field);
}

}  // namespace
}  // namespace skiff::runtime::dialects::e2b
