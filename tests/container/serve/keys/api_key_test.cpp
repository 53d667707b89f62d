#include "container/serve/keys/api_key.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

ApiKey key_of(const std::string& text) {
  return {.name = "one",
          .sha256 = sha256_hex(text),
          .tenant = "t",
          .scopes = {KeyScope::use},
          .created_at = {},
          .expires_ms = {}};
}

TEST(ApiKeys, HaveTheFormThatEveryVersionOfE2bsSdksTakes) {
  const std::string key = new_api_key();
  EXPECT_TRUE(key.starts_with("e2b_"));
  EXPECT_EQ(key.size(), 44U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef", 4), std::string::npos);
  EXPECT_NE(new_api_key(), key);
}

TEST(ApiKeys, AreFoundByTheirDigestUntilTheirEnd) {
  const WallTime now = wall_now();
  ApiKey ends = key_of("ends");
  ends.expires_ms = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count() + 1000;
  const KeyRing ring{.token_secret = "s", .keys = {key_of("first"), ends}};
  EXPECT_TRUE(find_key(ring, "first", now));
  EXPECT_TRUE(find_key(ring, "ends", now));
  const auto late = find_key(ring, "ends", now + 1s);
  const auto unknown = find_key(ring, "other", now);
  ASSERT_FALSE(late);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(late.error().code, Errc::unauthenticated);
  EXPECT_EQ(late.error().message, unknown.error().message);
  EXPECT_FALSE(find_key(ring, "", now));
  EXPECT_FALSE(find_key(ring, ring.keys.front().sha256, now));
}

TEST(ApiKeys, AllowWhatTheirScopesSayAndAdminAllowsAll) {
  ApiKey key = key_of("k");
  EXPECT_TRUE(key.allows(KeyScope::use));
  EXPECT_FALSE(key.allows(KeyScope::create));
  EXPECT_FALSE(key.allows(KeyScope::admin));
  key.scopes = {KeyScope::admin};
  EXPECT_TRUE(key.allows(KeyScope::create));
  EXPECT_TRUE(key.allows(KeyScope::use));
}

TEST(ApiKeys, AreReadAgainAsTheyWereWritten) {
  const KeyRing ring{.token_secret = new_token_secret(), .keys = {key_of("k")}};
  const auto again = protocol::decode<KeyRing>(protocol::to_json(ring));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->token_secret, ring.token_secret);
  ASSERT_EQ(again->keys.size(), 1U);
  EXPECT_EQ(again->keys.front().sha256, ring.keys.front().sha256);
  EXPECT_EQ(again->keys.front().scopes, ring.keys.front().scopes);
}

TEST(DerivedSecrets, AreTheHmacOfTheirPurpose) {
  // RFC 4231, test case 2.
  EXPECT_EQ(derived_secret("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(AccessTokens, AreThoseOfOneTenantsSandbox) {
  const std::string nonce = new_nonce();
  EXPECT_EQ(nonce.size(), 16U);
  const std::string token = access_token("secret", "t", "a", nonce);
  EXPECT_EQ(token, nonce + derived_secret("secret", "sandbox/t/a/" + nonce).substr(0, 48));
  EXPECT_EQ(token.size(), 64U);
  EXPECT_NE(token, access_token("secret", "t", "b", nonce));
  EXPECT_NE(token, access_token("secret", "u", "a", nonce));
  EXPECT_NE(token.substr(16), access_token("secret", "t", "a", new_nonce()).substr(16));
}

TEST(AccessTokens, HaveATrafficTokenFromWhichTheyDoNotFollow) {
  const std::string nonce = new_nonce();
  const std::string token = access_token("secret", "t", "a", nonce);
  EXPECT_EQ(traffic_token(token, nonce), nonce + derived_secret(token, "traffic").substr(0, 48));
}

}  // namespace
}  // namespace skiff::container::serve
