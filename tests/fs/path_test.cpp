#include "fs/path.hpp"

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

std::vector<std::string> names(std::string_view path) {
  const auto split = split_path(path);
  if (!split) return {"error: " + std::string{name(split.error().code)}};
  return {split->names.begin(), split->names.end()};
}

using Names = std::vector<std::string>;

TEST(Path, IsCutAtItsSlashes) {
  EXPECT_EQ(names("a/b/c"), (Names{"a", "b", "c"}));
  EXPECT_EQ(names("/a//b///c"), (Names{"a", "b", "c"}));
  EXPECT_EQ(names("./a/./b/."), (Names{"a", "b"}));
  EXPECT_EQ(names(""), Names{});
  EXPECT_EQ(names("/"), Names{});
  EXPECT_EQ(names("..."), Names{"..."});
}

TEST(Path, KeepsWhatGoesUp) {
  EXPECT_EQ(names("a/../b"), (Names{"a", "..", "b"}));
  EXPECT_EQ(names(".."), Names{".."});
}

TEST(Path, KnowsWhatCanOnlyMeanAFolder) {
  for (const char* path : {"", "/", ".", "..", "a/", "a/.", "a/..", "a//"}) {
    EXPECT_TRUE(split_path(path).value().folder) << path;
  }
  for (const char* path : {"a", "/a", "./a", "../a", "a/b", "...", "a/..b"}) {
    EXPECT_FALSE(split_path(path).value().folder) << path;
  }
  EXPECT_TRUE(split_path("/a").value().absolute);
  EXPECT_FALSE(split_path("a/b").value().absolute);
}

TEST(Path, RefusesANulByteAndWhatIsTooLong) {
  EXPECT_EQ(names(std::string_view{"a\0b", 3}), Names{"error: invalid_field"});
  EXPECT_EQ(names(std::string(255, 'x')), Names{std::string(255, 'x')});
  EXPECT_EQ(names(std::string(256, 'x')), Names{"error: name_too_long"});
  EXPECT_EQ(names("a/" + std::string(256, 'x') + "/b"), Names{"error: name_too_long"});
  std::string deep;
  while (deep.size() < 4095) deep += "a/";
  deep.resize(4095);
  EXPECT_EQ(names(deep).size(), 2048U);
  EXPECT_EQ(names(deep + "a"), Names{"error: name_too_long"});
}

TEST(Path, TakesAnyOtherByteAsPartOfAName) {
  EXPECT_EQ(names("a\nb/\xff\xfe/ \\"), (Names{"a\nb", "\xff\xfe", " \\"}));
}

TEST(Path, JoinsWhatItHasCut) {
  const auto split = split_path("//a/./../b/").value();
  EXPECT_EQ(join(split.names, split.folder), "a/../b/");
  EXPECT_EQ(join({}, true), ".");
}

}  // namespace
}  // namespace skiff::fs
