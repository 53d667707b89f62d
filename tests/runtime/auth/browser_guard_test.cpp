#include "runtime/auth/browser_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::runtime {
namespace {

using boost::asio::ip::make_address;
using ::testing::HasSubstr;

class Guard : public ::testing::Test {
 protected:
  using Checks = BrowserGuard::Checks;
  static constexpr Checks answer = Checks::answer;

  BrowserGuard plain = *BrowserGuard::create({}, {});
  std::optional<boost::asio::ip::address> local = make_address("10.1.2.3");

  [[nodiscard]] bool host(const BrowserGuard& guard, std::string_view value) const {
    const auto result = guard.check_host(value, local);
    if (!result) EXPECT_EQ(result.error().code, Errc::host_not_allowed);
    return result.has_value();
  }
  [[nodiscard]] static bool origin(const BrowserGuard& guard, std::string_view value, std::string_view scheme = "http",
                                   std::optional<std::string_view> to = "localhost:7070") {
    const auto result = guard.check_origin(value, scheme, to);
    if (!result) EXPECT_EQ(result.error().code, Errc::origin_not_allowed);
    return result.has_value();
  }
};

TEST_F(Guard, LetsLoopbackNamesPass) {
  for (const char* name : {"localhost", "localhost:7070", "LOCALHOST:1", "localhost.", "app.localhost", "127.0.0.1",
                           "127.0.0.1:80", "127.9.9.9", "[::1]", "[::1]:7070", "[::ffff:127.0.0.1]"}) {
    EXPECT_TRUE(host(plain, name)) << name;
  }
}

TEST_F(Guard, LetsClusterNamesPassWhereExpected) {
  const BrowserGuard guard = plain.with_cluster_names();
  for (const char* name : {"10.9.9.9", "10.9.9.9:8888", "[fd00::1]:8888", "web", "web:8888", "web.default.svc:8888",
                           "web.default.svc.cluster.local", "localhost"}) {
    EXPECT_TRUE(host(guard, name)) << name;
  }
  for (const char* name : {"example.org", "svc.example.org", "web.svc.example.org", "cluster.local.example.org:80"}) {
    EXPECT_FALSE(host(guard, name)) << name;
  }
  EXPECT_FALSE(host(plain, "web.default.svc"));
}

TEST_F(Guard, LetsAnyNamePassOnlyIfACredentialIsRequired) {
  const BrowserGuard open = BrowserGuard::create({"*", "box.example"}, {}).value();
  EXPECT_TRUE(host(open, "page.example"));
  EXPECT_FALSE(host(open.with_cluster_names(), "page.example"));
  EXPECT_TRUE(host(open.with_cluster_names(), "box.example"));
}

TEST_F(Guard, LetsTheConnectionsOwnAddressPass) {
  EXPECT_TRUE(host(plain, "10.1.2.3"));
  EXPECT_TRUE(host(plain, "10.1.2.3:7070"));
  EXPECT_TRUE(host(plain, "[::ffff:10.1.2.3]:7070"));
  EXPECT_FALSE(host(plain, "10.1.2.4"));
  local = make_address("::ffff:10.1.2.3");
  EXPECT_TRUE(host(plain, "10.1.2.3"));
  local = make_address("fd00::1");
  EXPECT_TRUE(host(plain, "[fd00::1]:7070"));
  EXPECT_TRUE(host(plain, "[FD00:0:0:0:0:0:0:1]"));
  EXPECT_FALSE(host(plain, "[fd00::2]"));
}

TEST_F(Guard, RefusesANameThatOnlyResolvesToTheAgent) {
  for (const char* name : {"evil.example",
                           "evil.example:7070",
                           "localhost.evil.example",
                           "notlocalhost",
                           "10.1.2.3.evil.example",
                           "127.0.0.1.nip.io",
                           "",
                           ".",
                           ":7070",
                           "[::1",
                           "[]",
                           "[::1]x",
                           "localhost:x",
                           "localhost:7070:1",
                           "user@localhost",
                           "localhost/",
                           "local host",
                           "localhost,evil.example",
                           "127.1",
                           "0x7f000001",
                           "0.0.0.0",
                           "[fe80::1%lo]",
                           "::1",
                           "[localhost",
                           "localhost:1234567"}) {
    EXPECT_FALSE(host(plain, name)) << name;
  }
}

TEST_F(Guard, LetsListedNamesAndSuffixesPass) {
  const BrowserGuard guard = *BrowserGuard::create({"Box.Example.org:443", "*.apps.example", "192.0.2.7"}, {});
  EXPECT_TRUE(host(guard, "box.example.org"));
  EXPECT_TRUE(host(guard, "BOX.example.org.:8080"));
  EXPECT_TRUE(host(guard, "a.apps.example"));
  EXPECT_TRUE(host(guard, "a.b.apps.example:80"));
  EXPECT_TRUE(host(guard, "192.0.2.7"));
  EXPECT_FALSE(host(guard, "apps.example"));
  EXPECT_FALSE(host(guard, ".apps.example"));
  EXPECT_FALSE(host(guard, "evilapps.example"));
  EXPECT_FALSE(host(guard, "x.box.example.org"));
  EXPECT_TRUE(host(*BrowserGuard::create({"*"}, {}), "anything.example"));
}

TEST_F(Guard, LetsRequestsOfOtherProgramsPass) {
  EXPECT_TRUE(plain.check_host(std::nullopt, local));
  EXPECT_TRUE(plain.check_host("anything", std::nullopt)) << "a Unix socket";
  EXPECT_TRUE(plain.check_origin(std::nullopt, "http", "localhost"));
}

TEST_F(Guard, RefusesPatternsItCouldNotCompare) {
  for (const char* pattern : {"", "*.", "a*b", "*example", "http://x", "x/", "*.[::1]"}) {
    const auto guard = BrowserGuard::create({pattern}, {});
    ASSERT_FALSE(guard) << pattern;
    EXPECT_THAT(guard.error().message, HasSubstr("--allowed-host"));
  }
  for (const char* pattern :
       {"", "null", "*", "example.org", "https://", "https://x/", "https://x/path", "https://a b"}) {
    const auto guard = BrowserGuard::create({}, {pattern});
    ASSERT_FALSE(guard) << pattern;
    EXPECT_THAT(guard.error().message, HasSubstr("--allowed-origin"));
  }
}

TEST_F(Guard, LetsOnlyListedOriginsReadAnswers) {
  const BrowserGuard guard = *BrowserGuard::create({}, {"https://App.example:443", "http://localhost:3000"});
  const auto may_read = [](const BrowserGuard& one, std::string_view origin) {
    const auto verdict = one.judge({.method = "GET", .origin = origin}, answer);
    return verdict && verdict->fields.get("Access-Control-Allow-Origin") == origin && !origin.empty();
  };
  for (const char* listed : {"https://app.example", "HTTPS://app.example:443", "http://localhost:3000"}) {
    EXPECT_TRUE(may_read(guard, listed)) << listed;
    EXPECT_FALSE(may_read(plain, listed)) << listed;
  }
  for (const char* other : {"", "null", "*", "http://app.example", "https://app.example:8443", "http://localhost",
                            "https://x.app.example", "https://app.example.x"}) {
    EXPECT_FALSE(may_read(guard, other)) << other;
  }
}

TEST_F(Guard, LetsPagesOfTheSameOriginPass) {
  EXPECT_TRUE(origin(plain, "http://localhost:7070"));
  EXPECT_TRUE(origin(plain, "HTTP://LOCALHOST:7070"));
  EXPECT_TRUE(origin(plain, "https://box.example", "https", "box.example:443"));
  EXPECT_TRUE(origin(plain, "http://box.example:80", "http", "box.example"));
  EXPECT_TRUE(origin(plain, "http://[::1]:7070", "http", "[::1]:7070"));
}

TEST_F(Guard, RefusesEveryOtherOrigin) {
  for (const char* value :
       {"https://localhost:7070", "http://localhost", "http://localhost:7071", "http://evil.example", "null", "",
        "http://127.0.0.1:7070", "http://localhost:7070/", "localhost:7070", "://localhost:7070",
        "http://localhost:7070 http://evil.example", "http://user@localhost:7070", "file://"}) {
    EXPECT_FALSE(origin(plain, value)) << value;
  }
  EXPECT_FALSE(origin(plain, "http://x", "http", std::nullopt));
  EXPECT_FALSE(origin(plain, "http://", "http", ""));
  EXPECT_FALSE(origin(plain, "http://box.example:443", "http", "box.example"));
}

TEST_F(Guard, LetsListedOriginsPass) {
  const BrowserGuard guard = *BrowserGuard::create({}, {"https://App.example:443", "http://localhost:3000"});
  EXPECT_TRUE(origin(guard, "https://app.example"));
  EXPECT_TRUE(origin(guard, "https://app.example:443"));
  EXPECT_TRUE(origin(guard, "http://localhost:3000"));
  EXPECT_FALSE(origin(guard, "http://app.example"));
  EXPECT_FALSE(origin(guard, "https://x.app.example"));
  EXPECT_FALSE(origin(guard, "http://localhost:3001"));
  EXPECT_FALSE(origin(guard, "null"));
}

TEST_F(Guard, ChecksTheOriginOfChanges) {
  const BrowserHead head{.method = "GET", .host = "localhost", .origin = "http://evil.example", .local = local};
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    BrowserHead safe = head;
    safe.method = method;
    EXPECT_TRUE(plain.judge(safe, answer)) << method;
    safe.is_upgrade = true;
    EXPECT_FALSE(plain.judge(safe, answer)) << method;
  }
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "get", "CONNECT", ""}) {
    BrowserHead unsafe = head;
    unsafe.method = method;
    EXPECT_FALSE(plain.judge(unsafe, answer)) << method;
    EXPECT_FALSE(plain.judge(unsafe, Checks::origin)) << method;
    EXPECT_TRUE(plain.judge(unsafe, Checks::reading)) << method;
  }
  const auto refused = plain.judge({.method = "GET", .host = "evil.example", .local = local}, Checks::reading);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::host_not_allowed);
}

TEST_F(Guard, AnswersPreflightsOfListedPages) {
  const BrowserGuard guard = *BrowserGuard::create({}, {"https://app.example"});
  BrowserHead head{.method = "OPTIONS",
                   .host = "localhost",
                   .origin = "https://app.example",
                   .local = local,
                   .is_preflight = true,
                   .wanted_fields = "X-Skiff-Token"};
  const auto allowed = guard.judge(head, answer);
  ASSERT_TRUE(allowed && allowed->preflight);
  EXPECT_EQ(allowed->preflight->status, 204U);
  EXPECT_EQ(allowed->preflight->headers.get("Access-Control-Allow-Headers"), "X-Skiff-Token");
  EXPECT_EQ(allowed->fields.get("Vary"), "Origin");
  const auto only_checked = guard.judge(head, Checks::origin);
  EXPECT_TRUE(only_checked && !only_checked->preflight && only_checked->fields.empty());
  const auto read = guard.judge(head, Checks::reading);
  EXPECT_TRUE(read && read->preflight && read->fields.contains("Access-Control-Allow-Origin"));
  head.origin = "https://evil.example";
  const auto other = guard.judge(head, answer);
  ASSERT_TRUE(other && !other->preflight);
  EXPECT_EQ(other->fields.get("Vary"), "Origin");
  EXPECT_FALSE(other->fields.contains("Access-Control-Allow-Origin"));
}

}  // namespace
}  // namespace skiff::runtime
