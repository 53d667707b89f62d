#include "container/egress/terminate/request_rule.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skiff::container::egress {
namespace {

bool allows(const std::string& rule, const std::string& method, const std::string& path) {
  const auto parsed = RequestRule::parse(rule);
  const auto target = protocol::Target::parse(path);
  EXPECT_TRUE(parsed) << rule << ": " << parsed.error().message;
  EXPECT_TRUE(target) << path;
  return parsed && target && is_clear_path(*target) && parsed->allows(method, *target);
}

TEST(RequestRule, AllowsAMethodAndAPath) {
  EXPECT_TRUE(allows("GET /user", "GET", "/user"));
  EXPECT_TRUE(allows("GET /user", "GET", "/user?page=2"));
  EXPECT_TRUE(allows("GET /user", "HEAD", "/user"));
  EXPECT_TRUE(allows("GET /user", "GET", "/%75ser"));
  EXPECT_FALSE(allows("GET /user", "POST", "/user"));
  EXPECT_FALSE(allows("HEAD /user", "GET", "/user"));
  for (const char* path : {"/", "/user/", "/user/keys", "/User", "/users", "/a/user"}) {
    EXPECT_FALSE(allows("GET /user", "GET", path)) << path;
  }
  EXPECT_TRUE(allows("* /user", "DELETE", "/user"));
  EXPECT_TRUE(allows("GET /", "GET", "/"));
}

TEST(RequestRule, AStarIsOnePartAndTwoAreTheRest) {
  EXPECT_TRUE(allows("GET /repos/*/app", "GET", "/repos/acme/app"));
  EXPECT_FALSE(allows("GET /repos/*/app", "GET", "/repos/acme/more/app"));
  EXPECT_FALSE(allows("GET /repos/*", "GET", "/repos/"));
  EXPECT_TRUE(allows("GET /repos/**", "GET", "/repos/acme/app"));
  EXPECT_TRUE(allows("GET /repos/**", "GET", "/repos/"));
  EXPECT_FALSE(allows("GET /repos/**", "GET", "/repos"));
  EXPECT_FALSE(allows("GET /repos/**", "GET", "/reposx/acme"));
  EXPECT_TRUE(allows("* /**", "PUT", "/any/thing"));
}

TEST(RequestRule, APathThatServersReadInDifferentWaysIsNotClear) {
  for (const char* path :
       {"/repos/../gists", "/repos/%2e%2e/gists", "/repos/.%2E/gists", "/repos/./x", "/repos//x", "//x", "/repos/a%2fb",
        "/repos/a%2Fb", "/repos/a%5cb", "/repos/a\\b", "/repos/%252e%252e/x", "/repos/..;/x", "/repos/..;a=b/x",
        "/repos/%00", "/repos/%0a", "/repos/%7f", "/repos/%zz", "/repos/..", "*"}) {
    const auto target = protocol::Target::parse(path);
    EXPECT_FALSE(target && is_clear_path(*target)) << path;
  }
  for (const char* path : {"/", "/a/", "/a.b/..c/d..", "/@scope", "/a;b=c", "/caf%C3%A9", "/a%20b", "/~me/x"}) {
    const auto target = protocol::Target::parse(path);
    EXPECT_TRUE(target && is_clear_path(*target)) << path;
  }
}

TEST(RequestRule, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "GET",
                           "/user",
                           "GET user",
                           "get /user",
                           "Get /user",
                           "GET* /user",
                           "GET  /user",
                           "GET /a b",
                           "GET /a?b",
                           "GET /a#b",
                           "GET /a//b",
                           "GET /a/../b",
                           "GET /a/%2e%2e",
                           "GET /a*",
                           "GET /**/b",
                           "GET /***",
                           "GET https://a.org/b",
                           "G:T /a",
                           "GET /a%2Fb",
                           "GET \n/a"}) {
    const auto rule = RequestRule::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, Errc::invalid_field) << text;
    EXPECT_EQ(rule.error().field, "--allow") << text;
  }
  EXPECT_FALSE(RequestRule::parse("GET /" + std::string(2000, 'a')));
}

}  // namespace
}  // namespace skiff::container::egress
