#include "container/changes/change.hpp"

#include <set>

#include <gtest/gtest.h>

namespace skiff::container::changes {
namespace {

TEST(Change, EachReasonAndTypeHasAWord) {
  std::set<std::string_view> words;
  for (const Why why : {Why::unreadable, Why::other_mount, Why::conflict, Why::consent, Why::special, Why::failed}) {
    words.insert(word(why));
  }
  EXPECT_EQ(words.size(), 6U);
  EXPECT_EQ(type_word(S_IFREG | 0644), "file");
  EXPECT_EQ(type_word(S_IFLNK | 0777), "symlink");
  EXPECT_EQ(type_word(S_IFBLK), "block_device");
}

}  // namespace
}  // namespace skiff::container::changes
