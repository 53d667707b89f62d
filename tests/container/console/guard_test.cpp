#include "container/console/guard.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container::console {
namespace {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

bool is_for_page_at(std::string_view target) {
  const auto parsed = protocol::Target::parse(target);
  return parsed && is_for_page(*parsed);
}

TEST(ConsoleGuard, LeadsToTheApisAlone) {
  for (const char* target : {"/v1/me", "/v1/sandboxes?owner=x", "/s/demo/7070/v1/version", "/s/demo/7070/v1/ports"}) {
    EXPECT_TRUE(is_for_page_at(target)) << target;
  }
  for (const char* target :
       {"/", "/sandboxes", "/metrics", "/s/demo/3000/", "/s/demo/49983/files", "/s/demo/7070/", "/s/demo/7070/mcp",
        "/s/demo/7070/v1/ports/3000/", "/s/demo/7070/v1/%70orts/3000/", "/s/demo/7070/v1%2Fports/3000/", "/v1%2Fme",
        "/s/demo/07070/v1/version", "/v1/%zz", "//v1/me"}) {
    EXPECT_FALSE(is_for_page_at(target)) << target;
  }
}

TEST(ConsoleGuard, KnowsTheNamesOfLoopback) {
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1:1", "[::1]:7", "[::1]"}) {
    EXPECT_TRUE(is_loopback_name(host)) << host;
  }
  for (const char* host : {"", "localhost.evil.example", "x.localhost", "127.0.0.2", "[::1", "[::2]", "localhost."}) {
    EXPECT_FALSE(is_loopback_name(host)) << host;
  }
}

TEST(ConsoleGuard, ReadsAFewCookiesOfItsName) {
  const protocol::Headers headers{{"Cookie", "a=b; s=1;s=2 ;sx=3; s; S=4"}, {"X", "s=5"}, {"cookie", "s="}};
  EXPECT_EQ(cookies_named(headers, "s"), (std::vector<std::string_view>{"1", "2", ""}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "s=x;";
  EXPECT_EQ(cookies_named(protocol::Headers{{"Cookie", many}, {"Cookie", many}}, "s").size(), 8);
}

TEST(ConsoleGuard, NeedsTheSchemeOfThePage) {
  protocol::HttpRequest request;
  request.host = "sandboxes.example";
  request.headers = Fields{{"Origin", "https://sandboxes.example"}};
  EXPECT_TRUE(check_own_script(request, true));
  EXPECT_FALSE(check_own_script(request, false));
  request.headers = Fields{{"Origin", "http://sandboxes.example"}};
  EXPECT_FALSE(check_own_script(request, true));
  EXPECT_TRUE(check_own_script(request, false));
}

TEST(ConsoleGuard, TellsScriptsFromDocuments) {
  for (const char* destination : {"empty", "websocket"}) {
    EXPECT_TRUE(may_be_for_script(Fields{{"Sec-Fetch-Dest", destination}}));
  }
  EXPECT_TRUE(may_be_for_script({}));
  for (const char* destination : {"", "document", "iframe", "script", "image", "Empty"}) {
    EXPECT_FALSE(may_be_for_script(Fields{{"Sec-Fetch-Dest", destination}})) << destination;
  }
}

TEST(ConsoleGuard, LeavesThePageNoFieldsOfOthers) {
  const protocol::Headers given{{"X-API-Key", "k"},      {"authorization", "Bearer k"}, {"Cookie", "a=b"},
                                {"X-Access-Token", "t"}, {"E2b-Sandbox-Id", "demo"},    {"X-Sandbox-Namespace", "n"},
                                {"X-Own", "1"}};
  EXPECT_TRUE(shows_own_credential(given));
  protocol::Headers fields = given;
  keep_fields_of_programs(fields);
  EXPECT_EQ(fields.size(), 3);
  EXPECT_TRUE(fields.contains("Cookie") && fields.contains("Authorization"));
  keep_fields_of_page(fields);
  EXPECT_EQ(fields.size(), 1);
  EXPECT_FALSE(shows_own_credential(fields));
}

TEST(ConsoleGuard, ConfinesEachAnswer) {
  protocol::Headers answer;
  confine(answer);
  EXPECT_TRUE(answer.get("Content-Security-Policy").ends_with("; sandbox"));
  EXPECT_EQ(answer.get("X-Frame-Options"), "DENY");
  EXPECT_EQ(answer.get("Referrer-Policy"), "no-referrer");
  confine_page(answer);
  EXPECT_FALSE(answer.get("Content-Security-Policy").contains("script-src"));
}

}  // namespace
}  // namespace skiff::container::console
