#include "protocol/http/server/server_names.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "protocol/http/forward.hpp"
#include "protocol/http/parser.hpp"

namespace skiff::protocol {
namespace {

constexpr std::string_view kPreview =
    "X-Forwarded-Host: 3000-box.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix:\r\n";

/// A request to port 3000 of an agent at http://box:7070, below /v1/ports/3000, with `fields`.
struct Passed {
  explicit Passed(const std::string& fields) {
    const auto request = parse_request_head("POST / HTTP/1.1\r\nHost: box:7070\r\n" + fields + "\r\n", 4000);
    EXPECT_TRUE(request.has_value()) << fields;
    if (!request) return;
    sent = forwarded_request(*request, {.name = "i-1", .peer = {}, .scheme = "http", .prefix = "/v1/ports/3000"});
    const ServerNames names{*request, sent, "localhost:3000"};
    names.tell_server(sent);
    told = names;
  }
  [[nodiscard]] std::string location(std::string_view value) const {
    Headers answer{{"Location", value}};
    told->tell_client(answer);
    return std::string{answer.get("Location")};
  }

  Headers sent;
  std::optional<ServerNames> told;
};

std::string origin(const std::string& value, const std::string& others = {}) {
  return std::string{Passed{others + "Origin: " + value + "\r\n"}.sent.get("Origin")};
}

std::string referer(const std::string& value, const std::string& others = {}) {
  return std::string{Passed{others + "Referer: " + value + "\r\n"}.sent.get("Referer")};
}

TEST(ServerNames, MakeTheOriginOfItsOwnPagesTheServersOwn) {
  const std::string own = "http://localhost:3000";
  EXPECT_EQ(origin("http://box:7070"), own);
  EXPECT_EQ(origin("HTTP://BOX:7070"), own);
  EXPECT_EQ(origin("https://3000-box.example", std::string{kPreview}), own);
  EXPECT_EQ(origin("https://3000-box.example:443", std::string{kPreview}), own);
  EXPECT_EQ(origin("http://[fd00::1]:7070", "X-Forwarded-Host: [FD00::1]:7070\r\n"), own);
  EXPECT_EQ(origin("https://a", "X-Forwarded-Host: a, b\r\nX-Forwarded-Proto: https,http\r\n"), own);
  EXPECT_EQ(origin("https://box:7070"), own) << "nobody has said the scheme: a proxy in front may have ended TLS";
}

TEST(ServerNames, LeaveEveryOtherOrigin) {
  for (const char* other :
       {"null", "http://box", "http://box:7071", "http://abox:7070", "http://box.evil:7070", "http://evil.box:7070",
        "http://user@box:7070", "http://box:7070@evil", "http://box:7070 http://evil", "http://evil/?http://box:7070",
        "http://box:7070/", "ftp://box:7070", "http://localhost:3000", "http://localhost:3001", "http://"}) {
    EXPECT_EQ(origin(other), other);
  }
  const std::string preview{kPreview};
  for (const char* other :
       {"http://3000-box.example", "https://3001-box.example", "https://3000-box.example.evil",
        "https://3000-box.example:8443", "https://example", "http://box:7070", "https://box:7070"}) {
    EXPECT_EQ(origin(other, preview), other);
  }
  EXPECT_EQ(origin("https://box:7070", "X-Forwarded-Proto: http\r\n"), "https://box:7070") << "somebody knows better";
  EXPECT_EQ(origin("http://", "X-Forwarded-Host:\r\n"), "http://");
}

TEST(ServerNames, TellOneNameToServersThatCompareOriginWithXForwardedHost) {
  const Headers own = Passed{std::string{kPreview} + "Origin: https://3000-box.example\r\n"}.sent;
  EXPECT_EQ(own.get("X-Forwarded-Host"), "localhost:3000");
  EXPECT_EQ(own.get("X-Forwarded-Proto"), "http");
  EXPECT_EQ(own.count("X-Forwarded-Host") + own.count("X-Forwarded-Proto") + own.count("Origin"), 3u);
  for (const char* origin : {"", "Origin: https://evil\r\n", "Origin: null\r\n"}) {
    const Headers other = Passed{std::string{kPreview} + origin}.sent;
    EXPECT_EQ(other.get("X-Forwarded-Host"), "3000-box.example") << origin;
    EXPECT_EQ(other.get("X-Forwarded-Proto"), "https") << origin;
  }
}

TEST(ServerNames, MakeTheRefererOfItsOwnPagesTheServersOwn) {
  const std::string preview{kPreview};
  EXPECT_EQ(referer("http://box:7070/v1/ports/3000/a/b?c=%20#d"), "http://localhost:3000/a/b?c=%20#d");
  EXPECT_EQ(referer("http://box:7070/v1/ports/3000/"), "http://localhost:3000/");
  EXPECT_EQ(referer("http://box:7070/v1/ports/3000"), "http://localhost:3000/");
  EXPECT_EQ(referer("http://box:7070/v1/ports/3000?x"), "http://localhost:3000/?x");
  EXPECT_EQ(referer("http://box:7070/"), "http://localhost:3000/") << "the origin alone";
  EXPECT_EQ(referer("https://3000-box.example/a", preview), "http://localhost:3000/a");
  EXPECT_EQ(referer("https://3000-box.example", preview), "http://localhost:3000/");
  EXPECT_EQ(referer("https://box/s/b/3000/x",
                    "X-Forwarded-Host: box\r\nX-Forwarded-Proto: https\r\n"
                    "X-Forwarded-Prefix: /s/b/3000\r\n"),
            "http://localhost:3000/x");
}

TEST(ServerNames, LeaveEveryOtherReferer) {
  for (const char* other :
       {"http://box:7070/v1/ports/4000/", "http://box:7070/v1/ports/30000/", "http://box:7070/x",
        "http://evil/v1/ports/3000/", "http://u@box:7070/v1/ports/3000/", "/v1/ports/3000/",
        "about:", "http://box:7070\\@evil/v1/ports/3000/", "http://evil/?http://box:7070/v1/ports/3000/"}) {
    EXPECT_EQ(referer(other), other);
  }
  const Headers twice = Passed{"Referer: http://box:7070/\r\nReferer: http://evil/\r\n"}.sent;
  EXPECT_EQ(twice.get("Referer"), "http://box:7070/");
}

TEST(ServerNames, RewriteLocationsForTheClient) {
  const Passed by_path{""};
  EXPECT_EQ(by_path.location("http://localhost:3000/login?next=/"), "/v1/ports/3000/login?next=/");
  EXPECT_EQ(by_path.location("https://LOCALHOST:3000"), "/v1/ports/3000/");
  EXPECT_EQ(by_path.location("//localhost:3000/x"), "/v1/ports/3000/x");
  EXPECT_EQ(by_path.location("http://localhost:3000/v1/ports/3000/x"), "/v1/ports/3000/x") << "it knows where it is";
  EXPECT_EQ(by_path.location("http://localhost:3000/v1/ports/30001"), "/v1/ports/3000/v1/ports/30001");
  const Passed by_host{std::string{kPreview}};
  EXPECT_EQ(by_host.location("http://localhost:3000/login"), "/login");
  EXPECT_EQ(by_host.location("http://localhost:3000?x"), "/?x");
  EXPECT_EQ(by_host.location("http://localhost:3000//evil/"), "/.//evil/") << "a path, and no host";
  EXPECT_EQ(by_host.location("http://localhost:3000/\\evil/"), "/./\\evil/");
  EXPECT_EQ(by_host.location("http://localhost:3000/\t/evil/"), "/.//evil/");
  EXPECT_EQ(by_host.location("http://localhost:3000/\t\\\tevil/"), "/./\\evil/");
}

TEST(ServerNames, LeaveEveryOtherLocation) {
  for (const char* other : {"/login", "login", "", "http://localhost:3001/", "http://localhost/", "http://evil/",
                            "http://localhost:3000@evil/", "http://127.0.0.1:3000/", "//evil/", "ftp://localhost:3000/",
                            "http://evil/?http://localhost:3000/", "https://3000-box.example/x"}) {
    EXPECT_EQ(Passed{std::string{kPreview}}.location(other), other);
  }
  for (const char* prefix : {"//evil", "/\\evil", "evil", "http://evil"}) {
    EXPECT_EQ(Passed{"X-Forwarded-Prefix: " + std::string{prefix} + "\r\n"}.location("http://localhost:3000/x"),
              "http://localhost:3000/x")
        << prefix;
  }
}

}  // namespace
}  // namespace skiff::protocol
