#include "fs/archive/other_forms.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "fs/archive/tar.hpp"

namespace skiff::fs {
namespace {

using namespace std::string_view_literals;

std::string refusal_of(std::string_view bytes) {
  TarReader reader{[bytes](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t size = std::min(into.size(), bytes.size());
    std::memcpy(into.data(), bytes.data(), size);
    bytes.remove_prefix(size);
    return size;
  }};
  const auto entry = reader.next();
  return entry ? "none" : std::string{name(entry.error().code)} + ": " + entry.error().message;
}

TEST(OtherForms, AreDetectedByTheirNames) {
  EXPECT_EQ(other_form("\xFD"
                       "7zXZ\0\0\4"sv),
            "xz");
  EXPECT_EQ(other_form("BZh91AY"sv), "bzip2");
  EXPECT_EQ(other_form("PK\3\4\x14\0"sv), "a zip archive");
  EXPECT_EQ(other_form("\x04\x22\x4D\x18\x64"sv), "lz4");
  EXPECT_EQ(other_form("hello"sv), "");
  EXPECT_EQ(other_form(""sv), "");
  // Test texts shorter and longer than a tar header.
  for (const std::size_t more : {0U, 2000U}) {
    const std::string bytes = "BZh91AY" + std::string(more, 'x');
    EXPECT_TRUE(refusal_of(bytes).starts_with("unsupported_media_type: this is bzip2: send tar")) << refusal_of(bytes);
  }
  EXPECT_TRUE(refusal_of("hello").starts_with("malformed_archive")) << refusal_of("hello");
}

TEST(OtherForms, AreNotNamesOfMembers) {
  std::string archive;
  TarWriter writer{[&archive](std::string_view part) -> Result<> {
    archive += part;
    return {};
  }};
  ASSERT_TRUE(writer.begin({.path = "BZhello"}));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(refusal_of(archive), "none");
}

}  // namespace
}  // namespace skiff::fs
