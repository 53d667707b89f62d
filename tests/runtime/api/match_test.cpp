#include "runtime/api/match.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skiff::runtime::api {
namespace {

TEST(Match, IsByMethodAndPath) {
  const Match shown = match("GET", {"v1", "sessions", "s", "commands", "c"});
  ASSERT_NE(shown.route, nullptr);
  EXPECT_EQ(shown.route->operation_id, "showCommand");
  EXPECT_EQ(shown.params, (std::vector<std::string>{"s", "c"}));
  EXPECT_EQ(match("HEAD", {"v1", "sessions", "s"}).route->operation_id, "showSession");
  EXPECT_EQ(match("GET", {"v1", "nothing"}).route, nullptr);
  EXPECT_EQ(match("GET", {"v1", "nothing"}).allow, "");
  const Match other = match("PUT", {"v1", "sessions", "s", "commands", "c"});
  EXPECT_EQ(other.route, nullptr);
  EXPECT_EQ(other.allow, "GET, HEAD, DELETE");
}

TEST(Match, OfAPortTakesEveryMethodButConnect) {
  for (const char* method : {"GET", "HEAD", "POST", "TRACE", "PROPFIND"}) {
    const Match passed = match(method, {"v1", "ports", "80", "a", "b"});
    ASSERT_NE(passed.route, nullptr) << method;
    EXPECT_TRUE(passed.route->passes_on());
    EXPECT_EQ(passed.params, (std::vector<std::string>{"80", "a/b"}));
  }
  const Match connect = match("CONNECT", {"v1", "ports", "80", ""});
  EXPECT_EQ(connect.route, nullptr);
  EXPECT_TRUE(connect.allow.starts_with("GET, HEAD, POST")) << connect.allow;
  EXPECT_EQ(match("GET", {"v1", "ports"}).route->operation_id, "listPorts");
}

TEST(Match, OfAPortWithAVerbIsTheConnectionItself) {
  const Match open = match("GET", {"v1", "ports", "5432:tcp"});
  ASSERT_NE(open.route, nullptr);
  EXPECT_EQ(open.route->operation_id, "openPort");
  EXPECT_EQ(open.params, (std::vector<std::string>{"5432"}));
  EXPECT_EQ(match("POST", {"v1", "ports", "5432:tcp"}).allow, "GET");
  for (const char* part : {":tcp", "5432", "5432:udp", "5432:tcp:"}) {
    EXPECT_EQ(match("GET", {"v1", "ports", part}).route, nullptr) << part;
  }
  EXPECT_TRUE(match("GET", {"v1", "ports", "5432:tcp", ""}).route->passes_on()) << "of a port that is none";
}

TEST(Match, HasAShortFormForTheDefaultSession) {
  const Match command = match("GET", {"v1", "commands", "c"});
  ASSERT_NE(command.route, nullptr);
  EXPECT_EQ(command.params, (std::vector<std::string>{"default", "c"}));
  const Match file = match("PUT", {"v1", "files", "a", "b"});
  ASSERT_NE(file.route, nullptr);
  EXPECT_EQ(file.params, (std::vector<std::string>{"default", "a/b"})) << "a path takes all that is left";
  EXPECT_EQ(match("GET", {"v1", "files:list"}).route->operation_id, "listFiles");
}

}  // namespace
}  // namespace skiff::runtime::api
