#include "protocol/service/router.hpp"

#include <array>

#include <gtest/gtest.h>

#include "protocol/service/route.hpp"

namespace skiff::protocol::service {
namespace {

using Row = Route<int>;

constexpr std::array kRows{
    Row{.method = "GET", .path = "/"},
    Row{.method = "POST", .path = "/things"},
    Row{.method = "GET", .path = "/things/{id}"},
    Row{.method = "DELETE", .path = "/things/{id}"},
    Row{.method = "GET", .path = "/things/{id}/live", .websocket = true},
    Row{.method = "GET", .path = "/ports/{port}:tcp"},
    Row{.method = kAnyMethod, .path = "/ports/{port}/{path}"},
    Row{.method = "GET", .path = "/files/{path}"},
};

Match find(std::string_view method, std::string_view path, RouterOptions options = {}) {
  return Router{kRows, options}.match(method, split_path(path));
}

TEST(Router, FindsTheRowOfMethodAndPath) {
  EXPECT_EQ(find("GET", "/").route, 0U);
  EXPECT_EQ(find("POST", "/things").route, 1U);
  const Match shown = find("GET", "/things/a");
  EXPECT_EQ(shown.route, 2U);
  EXPECT_EQ(shown.parameters, std::vector<std::string>{"a"});
  EXPECT_EQ(Router{kRows}.path(2), "/things/{id}");
}

TEST(Router, FindsNothingForOtherPaths) {
  for (const char* path : {"", "*", "/nope", "/things/", "/things/a/", "/things/a/b", "//", "/files"}) {
    const Match none = find("GET", path);
    EXPECT_FALSE(none.is_found()) << path;
    EXPECT_EQ(none.allow, "") << path;
  }
  const Match none = find("GET", "/nope");
  EXPECT_EQ(none.allow, "");
  EXPECT_EQ(no_route(none, "no such path").code, Errc::not_found);
  EXPECT_EQ(no_route(none, "no such path").message, "no such path");
}

TEST(Router, NamesTheMethodsThatAPathHas) {
  const Match other = find("PUT", "/things/a");
  EXPECT_FALSE(other.is_found());
  EXPECT_EQ(other.allow, "GET, HEAD, DELETE");
  EXPECT_EQ(no_route(other, "").code, Errc::method_not_allowed);
  EXPECT_EQ(no_route(other, "").message, "this path has: GET, HEAD, DELETE");
  EXPECT_EQ(find("GET", "/things").allow, "POST");
}

TEST(Router, HandlesHeadAsConfigured) {
  EXPECT_EQ(find("HEAD", "/things/a").route, 2U);
  EXPECT_FALSE(find("HEAD", "/things/a", {.head_as_get = false}).is_found());
  EXPECT_EQ(find("HEAD", "/things/a", {.head_as_get = false}).allow, "GET, DELETE");
  EXPECT_EQ(find("HEAD", "/things/a/live").allow, "GET") << "a WebSocket has no HEAD";
}

TEST(Router, MatchesVerbsAfterVariables) {
  EXPECT_EQ(find("GET", "/ports/80:tcp").parameters, std::vector<std::string>{"80"});
  for (const char* path : {"/ports/:tcp", "/ports/80", "/ports/80:udp", "/ports/80:tcp:"}) {
    EXPECT_FALSE(find("GET", path).is_found()) << path;
  }
}

TEST(Router, PassesEveryMethodButConnectOn) {
  for (const char* method : {"GET", "TRACE", "PROPFIND"}) {
    const Match passed = find(method, "/ports/80/a//b/");
    EXPECT_EQ(passed.route, 6U) << method;
    EXPECT_EQ(passed.parameters, (std::vector<std::string>{"80", "a//b/"}));
  }
  EXPECT_EQ(find("CONNECT", "/ports/80/").allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE");
}

TEST(Router, GivesTheRestOfAPathAsItIs) {
  EXPECT_EQ(find("GET", "/files/").parameters, std::vector<std::string>{""});
  EXPECT_EQ(find("GET", "/files//a").parameters, std::vector<std::string>{"/a"});
  EXPECT_FALSE(find("GET", "/files").is_found());
  EXPECT_EQ(find("GET", "/files", {.rest_may_be_absent = true}).parameters, std::vector<std::string>{""});
}

TEST(Router, IgnoresATrailingSlashIfConfigured) {
  constexpr RouterOptions kLoose{.slash_at_end = true};
  EXPECT_EQ(find("POST", "/things/", kLoose).route, 1U);
  EXPECT_EQ(find("GET", "/things/a/", kLoose).parameters, std::vector<std::string>{"a"});
  EXPECT_FALSE(find("GET", "/things/a//", kLoose).is_found());
  EXPECT_FALSE(find("GET", "//", kLoose).is_found());
  EXPECT_EQ(find("GET", "/files/a/", kLoose).parameters, std::vector<std::string>{"a/"});
}

TEST(Router, ComparesDecodedSegments) {
  const auto target = Target::parse("/things/a%2Fb");
  ASSERT_TRUE(target);
  EXPECT_EQ(Router{kRows}.match("GET", decoded_segments(*target)).parameters, std::vector<std::string>{"a/b"});
  EXPECT_EQ(Router{kRows}.match("GET", split_path(target->path)).parameters, std::vector<std::string>{"a%2Fb"});
}

}  // namespace
}  // namespace skiff::protocol::service
