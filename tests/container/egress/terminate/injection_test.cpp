#include "container/egress/terminate/injection.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

Secret model() {
  return {.name = "model", .hosts = {"api.example.com"}, .header = "X-Api-Key", .format = "{}", .value = "0123456789"};
}

protocol::HttpRequest request(protocol::Headers fields) {
  return {
      .method = "GET", .target_text = "/v1?q=1", .target = {}, .headers = std::move(fields), .host = {}, .body = {}};
}

TEST(Injection, SetsItsFieldWhateverWasThere) {
  const auto made = inject(model(), request({{"x_api_key", "mine"}, {"X-Api-Key", "mine"}, {"Range", "bytes=0-1"}}));
  EXPECT_EQ(made.fields.get("X-Api-Key"), "0123456789");
  EXPECT_EQ(made.fields.count("X-Api-Key"), 1U);
  EXPECT_FALSE(made.fields.contains("x_api_key"));
  EXPECT_FALSE(made.fields.contains("Range"));
  EXPECT_EQ(made.traces, std::vector<std::string>{"0123456789"});
}

TEST(Injection, ReplacesThePlaceholderInItsFieldAlone) {
  Secret secret = model();
  secret.header = "Authorization";
  secret.placeholder = "a-placeholder-of-it";
  secret.variable = "KEY";
  secret.replaces = true;
  const auto made =
      inject(secret, request({{"Authorization", "Bearer a-placeholder-of-it"}, {"X", secret.placeholder}}));
  EXPECT_EQ(made.fields.get("Authorization"), "Bearer 0123456789");
  EXPECT_EQ(made.fields.get("X"), secret.placeholder);
  const auto pair = inject(secret, request({{"Authorization", "basic bWU6YS1wbGFjZWhvbGRlci1vZi1pdA=="}}));
  EXPECT_EQ(pair.fields.get("Authorization"), "Basic bWU6MDEyMzQ1Njc4OQ==");
  EXPECT_EQ(pair.traces, (std::vector<std::string>{"0123456789", "bWU6MDEyMzQ1Njc4OQ"}));
  // Another credential stays what it is.
  EXPECT_EQ(inject(secret, request({{"Authorization", "Bearer mine"}})).fields.get("Authorization"), "Bearer mine");
  EXPECT_EQ(inject(secret, request({{"Authorization", "Basic %%"}})).fields.get("Authorization"), "Basic %%");
}

TEST(Injection, LeavesTheFieldsOfRequestsWithoutASecret) {
  const Secret bare{.name = "docs", .hosts = {"a.org"}, .header = {}, .requests = {"GET /**"}, .value = {}};
  const auto made = inject(bare, request({{"Authorization", "Bearer mine"},
                                          {"Range", "bytes=0-1"},
                                          {"Accept-Encoding", "gzip"},
                                          {"X-HTTP-Method-Override", "DELETE"}}));
  EXPECT_EQ(made.fields.get("Authorization"), "Bearer mine");
  EXPECT_EQ(made.fields.get("Range"), "bytes=0-1");
  EXPECT_EQ(made.fields.get("Accept-Encoding"), "gzip");
  EXPECT_FALSE(made.fields.contains("X-HTTP-Method-Override"));
  EXPECT_TRUE(made.traces.empty());
}

TEST(Injection, ReplacesThePlaceholderOnce) {
  // Or a head of a few KiB with the placeholder of a long secret again and again would become one of megabytes.
  Secret secret = model();
  secret.placeholder = "a-placeholder-of-it";
  secret.variable = "KEY";
  secret.replaces = true;
  const auto twice =
      inject(secret,
             request({{"X-Api-Key", "a-placeholder-of-it,a-placeholder-of-it"}, {"X-Api-Key", "a-placeholder-of-it"}}));
  EXPECT_EQ(twice.fields.wire().find("0123456789"), twice.fields.wire().rfind("0123456789")) << twice.fields.wire();
  const auto pair =
      inject(secret, request({{"X-Api-Key", "Basic YS1wbGFjZWhvbGRlci1vZi1pdDphLXBsYWNlaG9sZGVyLW9mLWl0"}}));
  EXPECT_EQ(pair.fields.get("X-Api-Key"), "Basic MDEyMzQ1Njc4OTphLXBsYWNlaG9sZGVyLW9mLWl0");
}

TEST(Injection, FindsAPlaceholder) {
  constexpr std::string_view kPlaceholder = "a-placeholder-of-it";
  EXPECT_TRUE(has_placeholder(request({{"X", "<a-placeholder-of-it>"}}), kPlaceholder));
  EXPECT_TRUE(has_placeholder(request({{"Authorization", "Basic bWU6YS1wbGFjZWhvbGRlci1vZi1pdA=="}}), kPlaceholder));
  EXPECT_FALSE(has_placeholder(request({{"X", "a-placeholder"}}), kPlaceholder));
  auto in_target = request({});
  in_target.target_text = "/a-placeholder-of-it";
  EXPECT_TRUE(has_placeholder(in_target, kPlaceholder));
}

TEST(Injection, AWebSocketIsAskedForOnlyIfTheSecretIsForIt) {
  Secret secret = model();
  const auto asks = request({{"Connection", "Upgrade"}, {"Upgrade", "websocket"}});
  EXPECT_FALSE(inject(secret, asks).fields.contains("Connection"));
  EXPECT_FALSE(inject(secret, asks).fields.contains("Upgrade"));
  secret.websocket = true;
  EXPECT_EQ(inject(secret, asks).fields.get("Connection"), "Upgrade");
  EXPECT_EQ(inject(secret, asks).fields.get("Upgrade"), "websocket");
  EXPECT_FALSE(inject(secret, request({{"Connection", "Upgrade"}, {"Upgrade", "h2c"}})).fields.contains("Connection"));
}

}  // namespace
}  // namespace skiff::container::egress
