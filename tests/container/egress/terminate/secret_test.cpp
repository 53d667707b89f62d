#include "container/egress/terminate/secret.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.hpp"

namespace skiff::container::egress {
namespace {

Secret github() {
  return {.name = "github",
          .hosts = {"github.com", "git.example.com:8443"},
          .header = "Authorization",
          .format = "Bearer {}",
          .value = "0123456789"};
}

TEST(Secret, IsForItsHostsAlone) {
  const Secret secret = github();
  EXPECT_TRUE(secret.is_for({.host = "github.com", .port = 443}));
  EXPECT_TRUE(secret.is_for({.host = "git.example.com", .port = 8443}));
  EXPECT_FALSE(secret.is_for({.host = "git.example.com", .port = 443}));
  EXPECT_FALSE(secret.is_for({.host = "api.github.com", .port = 443}));
  EXPECT_FALSE(secret.is_for({.host = "github.com", .port = 443, .is_plain = true}));
}

TEST(Secret, IsForSomeRequests) {
  Secret secret = github();
  const auto gists = protocol::Target::parse("/gists").value();
  EXPECT_TRUE(secret.is_for("POST", gists));
  secret.requests = {"GET /gists", "* /repos/**"};
  EXPECT_TRUE(secret.check());
  EXPECT_TRUE(secret.is_for("GET", gists));
  EXPECT_FALSE(secret.is_for("POST", gists));
  EXPECT_TRUE(secret.is_for("POST", protocol::Target::parse("/repos/acme").value()));
  secret.requests = {"GET gists"};
  EXPECT_EQ(secret.check().error().field, "--allow");
  secret.requests = std::vector<std::string>(101, "GET /gists");
  EXPECT_EQ(secret.check().error().field, "--allow");
}

TEST(Secret, IsInjected) {
  Secret secret = github();
  EXPECT_EQ(secret.injected(), "Bearer 0123456789");
  EXPECT_EQ(secret.traces(), std::vector<std::string>{"0123456789"});
  secret.format = {};
  secret.user = "me";
  EXPECT_EQ(secret.injected(), "Basic bWU6MDEyMzQ1Njc4OQ==");
  EXPECT_EQ(secret.traces(), (std::vector<std::string>{"0123456789", "bWU6MDEyMzQ1Njc4OQ"}));
}

TEST(Secret, MayHaveNoValue) {
  Secret bare{.name = "docs", .hosts = {"docs.example.com"}, .header = {}, .requests = {"GET /**"}, .value = {}};
  ASSERT_TRUE(bare.check());
  EXPECT_FALSE(bare.has_value());
  EXPECT_TRUE(bare.traces().empty());
  EXPECT_FALSE(bare.is_for("POST", protocol::Target::parse("/a").value()));
  // It cannot come about by a value that is lost.
  Secret lost = github();
  lost.value = {};
  EXPECT_FALSE(lost.check());
  bare.value = "0123456789";
  EXPECT_EQ(bare.check().error().field, "--no-value");
}

TEST(Secret, IsRefusedIfItIsNone) {
  const auto field = [](auto change) {
    Secret secret = github();
    change(secret);
    const auto checked = secret.check();
    return checked ? std::string{} : checked.error().field;
  };
  EXPECT_EQ(field([](Secret&) {}), "");
  for (const char* const host : {"*.example.com", "http://a.org", "1.2.3.4", "localhost", "a.org/x"}) {
    EXPECT_EQ(field([&](Secret& one) { one.hosts = {host}; }), "--host") << host;
  }
  EXPECT_EQ(field([](Secret& one) { one.hosts = {}; }), "--host");
  for (const char* const header : {"Host", "content-length", "a b", "Range"}) {
    EXPECT_EQ(field([&](Secret& one) { one.header = header; }), "--header") << header;
  }
  for (const char* const format : {"Bearer", "{} {}", "a\r\nX: {}"}) {
    EXPECT_EQ(field([&](Secret& one) { one.format = format; }), "--header") << format;
  }
  EXPECT_EQ(field([](Secret& one) { one.user = "a:b"; }), "--basic");
  const auto placed = [&](const std::string& variable, const std::string& text) {
    return field([&](Secret& one) {
      one.variable = variable;
      one.placeholder = text;
    });
  };
  EXPECT_EQ(placed("API_KEY", "a-placeholder-of-it"), "");
  for (const char* const variable : {"", "1A", "A-B", "A=B"}) {
    EXPECT_EQ(placed(variable, "a-placeholder-of-it"), "--placeholder") << variable;
  }
  for (const char* const text : {"", "short", "with blanks and blanks", "a-placeholder-0123456789"}) {
    EXPECT_EQ(placed("API_KEY", text), "--placeholder") << text;
  }
  EXPECT_EQ(field([](Secret& one) { one.replaces = true; }), "--placeholder");
  for (const std::string& value : {std::string{"short"}, std::string{"two words"}, std::string(5000, 'x')}) {
    EXPECT_EQ(field([&](Secret& one) { one.value = value; }), "stdin") << value;
  }
}

TEST(SecretStore, KeepsThemForTheirOwnerAlone) {
  const test::TemporaryDirectory state;
  const SecretStore store{state.path()};
  EXPECT_EQ(*store.names(), std::vector<std::string>{});
  EXPECT_EQ(store.get("github").error().code, Errc::not_found);
  ASSERT_TRUE(store.set(github()));
  const auto file = std::filesystem::path{state.path()} / "egress-secrets/github.json";
  struct stat found{};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_EQ(store.get("github")->value, "0123456789");
  EXPECT_EQ(store.get("../github").error().code, Errc::not_found);
  EXPECT_EQ(*store.names(), std::vector<std::string>{"github"});
  std::ofstream{file} << "{\"name\": \"github\", \"value\": \"0123456789";
  const auto damaged = store.get("github");
  ASSERT_FALSE(damaged);
  EXPECT_FALSE(damaged.error().message.contains("0123"));
  ASSERT_TRUE(store.remove("github"));
  EXPECT_EQ(store.remove("github").error().code, Errc::not_found);
}

}  // namespace
}  // namespace skiff::container::egress
