#include "runtime/api/route.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skiff::runtime::api {
namespace {

struct Found {
  const Route* route;
  std::vector<std::string> params;
  std::string allow;
};

Found match(std::string_view method, std::vector<std::string> segments) {
  protocol::Target target;
  target.segments = std::move(segments);
  auto found = find_route(method, target);
  const Route* route = found.is_found() ? &routes()[found.route] : nullptr;
  return {.route = route, .params = std::move(found.parameters), .allow = std::move(found.allow)};
}

TEST(FindRoute, MatchesMethodAndPath) {
  const Found shown = match("GET", {"v1", "sessions", "s", "commands", "c"});
  ASSERT_NE(shown.route, nullptr);
  EXPECT_EQ(shown.route->operation_id, "showCommand");
  EXPECT_EQ(shown.params, (std::vector<std::string>{"s", "c"}));
  EXPECT_EQ(match("HEAD", {"v1", "sessions", "s"}).route->operation_id, "showSession");
  EXPECT_EQ(match("GET", {"v1", "nothing"}).route, nullptr);
  EXPECT_EQ(match("GET", {"v1", "nothing"}).allow, "");
  const Found other = match("PUT", {"v1", "sessions", "s", "commands", "c"});
  EXPECT_EQ(other.route, nullptr);
  EXPECT_EQ(other.allow, "GET, HEAD, DELETE");
}

TEST(FindRoute, PassesEveryMethodButConnectToAPort) {
  for (const char* method : {"GET", "HEAD", "POST", "TRACE", "PROPFIND"}) {
    const Found passed = match(method, {"v1", "ports", "80", "a", "b"});
    ASSERT_NE(passed.route, nullptr) << method;
    EXPECT_TRUE(passed.route->passes_on());
    EXPECT_EQ(passed.params, (std::vector<std::string>{"80", "a/b"}));
  }
  const Found connect = match("CONNECT", {"v1", "ports", "80", ""});
  EXPECT_EQ(connect.route, nullptr);
  EXPECT_TRUE(connect.allow.starts_with("GET, HEAD, POST")) << connect.allow;
  EXPECT_EQ(match("GET", {"v1", "ports"}).route->operation_id, "listPorts");
}

TEST(FindRoute, FindsTheTcpRouteOfAPort) {
  const Found open = match("GET", {"v1", "ports", "5432:tcp"});
  ASSERT_NE(open.route, nullptr);
  EXPECT_EQ(open.route->operation_id, "openPort");
  EXPECT_EQ(open.params, (std::vector<std::string>{"5432"}));
  EXPECT_EQ(match("POST", {"v1", "ports", "5432:tcp"}).allow, "GET");
  for (const char* part : {":tcp", "5432", "5432:udp", "5432:tcp:"}) {
    EXPECT_EQ(match("GET", {"v1", "ports", part}).route, nullptr) << part;
  }
  EXPECT_TRUE(match("GET", {"v1", "ports", "5432:tcp", ""}).route->passes_on()) << "of a port that is none";
}

TEST(FindRoute, HasAShortFormForTheDefaultSession) {
  const Found command = match("GET", {"v1", "commands", "c"});
  ASSERT_NE(command.route, nullptr);
  EXPECT_EQ(command.params, (std::vector<std::string>{"default", "c"}));
  const Found file = match("PUT", {"v1", "files", "a", "b"});
  ASSERT_NE(file.route, nullptr);
  EXPECT_EQ(file.params, (std::vector<std::string>{"default", "a/b"})) << "a path takes all that is left";
  EXPECT_EQ(match("GET", {"v1", "files:list"}).route->operation_id, "listFiles");
}

}  // namespace
}  // namespace skiff::runtime::api
