#include "fs/path/path.hpp"

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

std::vector<std::string> names(std::string_view path) {
  const auto split = split_path(path);
  if (!split) return {"error: " + std::string{name(split.error().code)}};
  return {split->names.begin(), split->names.end()};
}

using NameList = std::vector<std::string>;

TEST(Path, IsCutAtItsSlashes) {
  EXPECT_EQ(names("a/b/c"), (NameList{"a", "b", "c"}));
  EXPECT_EQ(names("/a//b///c"), (NameList{"a", "b", "c"}));
  EXPECT_EQ(names("./a/./b/."), (NameList{"a", "b"}));
  EXPECT_EQ(names(""), NameList{});
  EXPECT_EQ(names("/"), NameList{});
  EXPECT_EQ(names("..."), NameList{"..."});
}

TEST(Path, KeepsWhatGoesUp) {
  EXPECT_EQ(names("a/../b"), (NameList{"a", "..", "b"}));
  EXPECT_EQ(names(".."), NameList{".."});
}

TEST(Path, KnowsWhatCanOnlyMeanADirectory) {
  for (const char* path : {"", "/", ".", "..", "a/", "a/.", "a/..", "a//"}) {
    EXPECT_TRUE(split_path(path).value().directory) << path;
  }
  for (const char* path : {"a", "/a", "./a", "../a", "a/b", "...", "a/..b"}) {
    EXPECT_FALSE(split_path(path).value().directory) << path;
  }
  EXPECT_TRUE(split_path("/a").value().absolute);
  EXPECT_FALSE(split_path("a/b").value().absolute);
}

TEST(Path, RefusesANulByteAndWhatIsTooLong) {
  EXPECT_EQ(names(std::string_view{"a\0b", 3}), NameList{"error: invalid_field"});
  EXPECT_EQ(names(std::string(255, 'x')), NameList{std::string(255, 'x')});
  EXPECT_EQ(names(std::string(256, 'x')), NameList{"error: name_too_long"});
  EXPECT_EQ(names("a/" + std::string(256, 'x') + "/b"), NameList{"error: name_too_long"});
  std::string deep;
  while (deep.size() < 4095) deep += "a/";
  deep.resize(4095);
  EXPECT_EQ(names(deep).size(), 2048U);
  EXPECT_EQ(names(deep + "a"), NameList{"error: name_too_long"});
}

TEST(Path, TakesAnyOtherByteAsPartOfAName) {
  EXPECT_EQ(names("a\nb/\xff\xfe/ \\"), (NameList{"a\nb", "\xff\xfe", " \\"}));
}

TEST(Path, JoinsWhatItHasCut) {
  const auto split = split_path("//a/./../b/").value();
  EXPECT_EQ(join(split.names, split.directory), "a/../b/");
  EXPECT_EQ(join({}, true), ".");
}

}  // namespace
}  // namespace skiff::fs
