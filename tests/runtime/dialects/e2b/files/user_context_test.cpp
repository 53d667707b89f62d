#include "runtime/dialects/e2b/files/user_context.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

TEST(E2bUserContext, ResolvesPathsAsTheOriginalDoes) {
  const auto path = [](std::string_view given) { return *absolute_path(given, "/base", "/home/me"); };
  EXPECT_EQ(path(""), "/base");
  EXPECT_EQ(path("."), "/base");
  EXPECT_EQ(path("a/b"), "/base/a/b");
  EXPECT_EQ(path("./a//b/"), "/base/a/b");
  EXPECT_EQ(path("../a"), "/a");
  EXPECT_EQ(path("../../../a"), "/a");
  EXPECT_EQ(path("/"), "/");
  EXPECT_EQ(path("/a/../b"), "/b");
  EXPECT_EQ(path("~"), "/home/me");
  EXPECT_EQ(path("~/a"), "/home/me/a");
  EXPECT_EQ(path("a/~"), "/base/a/~");
  EXPECT_EQ(absolute_path("~root/a", "/base", "/home/me").error().code, Errc::invalid_field);
}

TEST(E2bUserContext, RulesAPathOutOfTheTreeByItsTextAlone) {
  const test::TemporaryDirectory directory;
  const std::string root = directory.path().string();
  const auto tree = fs::Tree::open({.path = root}).value();
  EXPECT_TRUE(may_be_in(tree, root));
  EXPECT_TRUE(may_be_in(tree, root + "/home"));
  EXPECT_TRUE(may_be_in(tree, "home"));
  EXPECT_FALSE(may_be_in(tree, root + "-other"));
  EXPECT_FALSE(may_be_in(tree, "/"));
  EXPECT_FALSE(may_be_in(tree, ""));
  EXPECT_TRUE(may_be_in(fs::Tree::open({.path = "/"}).value(), "/home/me"));
}

TEST(E2bUserContext, ReadsTheUserOfBasicAuthentication) {
  using protocol::Headers;
  EXPECT_EQ(*basic_user({}), "");
  EXPECT_EQ(*basic_user(Headers{{"Authorization", "Basic cm9vdDo="}}), "root");
  EXPECT_EQ(*basic_user(Headers{{"Authorization", "basic dXNlcjpwYXNz"}}), "user");
  EXPECT_EQ(*basic_user(Headers{{"Authorization", "Bearer x"}}), "");
  EXPECT_EQ(basic_user(Headers{{"Authorization", "Basic !"}}).error().code, Errc::unauthenticated);
  EXPECT_EQ(basic_user(Headers{{"Authorization", "Basic AGE6"}}).error().code, Errc::unauthenticated);
}

}  // namespace
}  // namespace skiff::runtime::dialects::e2b
