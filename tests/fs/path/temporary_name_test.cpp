#include "fs/path/temporary_name.hpp"

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

TEST(TemporaryName, IsUnique) {
  EXPECT_NE(temporary_name(), temporary_name());
  EXPECT_TRUE(temporary_name().starts_with(".skiff-"));
  EXPECT_TRUE(is_temporary(temporary_name()));
  EXPECT_TRUE(is_temporary("a/b/" + temporary_name()));
  for (const std::string& other : {std::string{}, std::string{"a"}, std::string{".skiff-sixteen-letters-"},
                                   temporary_name() + '0', temporary_name() + "/a", 'a' + temporary_name()}) {
    EXPECT_FALSE(is_temporary(other)) << other;
  }
}

TEST(TemporaryName, TellsWhetherTheFileReplacesAnother) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(becomes("a/" + temporary_name(Becomes::replacement)), Becomes::replacement);
    EXPECT_EQ(becomes(temporary_name(Becomes::something_new)), Becomes::something_new);
  }
  EXPECT_EQ(becomes("f"), Becomes::something_new);
}

}  // namespace
}  // namespace skiff::fs
