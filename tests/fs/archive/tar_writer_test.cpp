#include <string>

#include <gtest/gtest.h>

#include "fs/archive/tar.hpp"
#include "tests/support/tar_bytes.hpp"

namespace skiff::fs {
namespace {

std::string archive_of(const TarEntry& entry, std::string_view content = "") {
  std::string archive;
  TarWriter writer{[&archive](std::string_view bytes) -> Result<> {
    archive += bytes;
    return {};
  }};
  EXPECT_TRUE(writer.begin(entry));
  EXPECT_TRUE(writer.write(content));
  EXPECT_TRUE(writer.finish());
  return archive;
}

TEST(TarWriter, KeepsEverythingThatAMemberHas) {
  using Kind = TarEntry::Kind;
  const std::string deep = std::string(200, 'd') + "/\xC3\xA9\xFF" + std::string(150, 'n');
  const TarEntry entries[] = {
      {.path = "plain", .mode = 0755, .seconds = 1'700'000'000, .uid = 1000, .gid = 1001},
      {.path = deep, .mode = 04711, .seconds = 12, .nanoseconds = 345'678'900},
      {.kind = Kind::directory, .path = "folder/", .mode = 01777},
      {.kind = Kind::directory, .path = std::string(100, 'f') + "/", .mode = 0700},
      {.kind = Kind::link, .path = "link", .target = std::string(400, 't'), .mode = 0777},
      {.kind = Kind::hard_link, .path = "hard", .target = "plain"},
      {.path = "old", .seconds = -5, .nanoseconds = 250'000'000},
      {.path = "older", .seconds = -5},
      {.path = "future", .seconds = 100'000'000'000, .uid = 4'000'000'000, .gid = 3'000'000'000},
  };
  for (const TarEntry& entry : entries) {
    const std::string archive = archive_of(entry);
    EXPECT_EQ(archive.size() % 512, 0U);
    TarReader reader{test::source_of(archive)};
    const auto read = reader.next();
    ASSERT_TRUE(read && *read) << entry.path;
    EXPECT_EQ((*read)->kind, entry.kind);
    EXPECT_EQ((*read)->path, entry.path);
    EXPECT_EQ((*read)->target, entry.target);
    EXPECT_EQ((*read)->mode, entry.mode);
    EXPECT_EQ((*read)->seconds, entry.seconds) << entry.path;
    EXPECT_EQ((*read)->nanoseconds, entry.nanoseconds) << entry.path;
    EXPECT_EQ((*read)->uid, entry.uid);
    EXPECT_EQ((*read)->gid, entry.gid);
    EXPECT_FALSE(*reader.next());
  }
}

TEST(TarWriter, StatesSizesAboveEightGibibytes) {
  std::string archive;
  TarWriter writer{[&archive](std::string_view bytes) -> Result<> {
    archive += bytes;
    return {};
  }};
  constexpr std::uint64_t size = std::uint64_t{9} << 30U;
  ASSERT_TRUE(writer.begin({.path = "large", .size = size}));
  TarReader reader{test::source_of(archive)};
  EXPECT_EQ((*reader.next())->size, size);
}

TEST(TarWriter, NeedsExactlyTheStatedContent) {
  TarWriter writer{[](std::string_view) -> Result<> { return {}; }};
  ASSERT_TRUE(writer.begin({.path = "a", .size = 3}));
  EXPECT_FALSE(writer.write("1234"));
  EXPECT_TRUE(writer.write("12"));
  EXPECT_FALSE(writer.finish());
  EXPECT_FALSE(writer.begin({.path = "b"}));
  EXPECT_TRUE(writer.write("3"));
  EXPECT_TRUE(writer.finish());
}

}  // namespace
}  // namespace skiff::fs
