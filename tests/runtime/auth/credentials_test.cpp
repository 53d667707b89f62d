#include "runtime/auth/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/signing_key.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using test::kNow;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kClaims = R"({"aud":"box-1","exp":1800000060,"scope":"exec","sub":"ci","session":"s"})";

/// The presented token; "-" for none, "401" when the request is refused.
std::string presented(CredentialHeaders headers) {
  const auto token = presented_token(headers);
  if (!token) {
    EXPECT_EQ(token.error().code, Errc::unauthenticated);
    return "401";
  }
  return token->value_or("-");
}
std::string authorization(std::string_view value) {
  return presented({value, {}, {}});
}
std::string protocols(std::string_view value) {
  return presented({{}, {}, value});
}

TEST(PresentedToken, ComesFromAnyOfThreeHeaders) {
  EXPECT_EQ(presented({}), "-");
  EXPECT_EQ(authorization("Bearer secret"), "secret");
  EXPECT_EQ(authorization("bearer   secret "), "secret");
  EXPECT_EQ(presented({{}, "secret", {}}), "secret");
  EXPECT_EQ(protocols("skiff.bearer.c2VjcmV0"), "secret");
  EXPECT_EQ(protocols("skiff.v1.json , skiff.bearer.c2VjcmV0,skiff.v1.binary"), "secret");
  EXPECT_EQ(protocols("skiff.v1.json"), "-");
  EXPECT_EQ(protocols(""), "-");
}

TEST(PresentedToken, IsAbsentIfEmpty) {
  for (const char* value : {"Bearer", "Bearer "}) EXPECT_EQ(authorization(value), "-") << value;
  EXPECT_EQ(presented({{}, "", {}}), "-");
}

TEST(PresentedToken, IsRefusedWhenItIsMalformed) {
  for (const char* value : {"Bearer a b", "Bearer \x01", "bearer \xff"}) {
    EXPECT_EQ(authorization(value), "401") << value;
  }
  EXPECT_EQ(presented({{}, "a b", {}}), "401");
  for (const char* value : {"skiff.bearer.", "skiff.bearer.c2VjcmV0=", "skiff.bearer.?", "skiff.bearer.c",
                            "skiff.bearer.IA", "x, skiff.bearer.c2Vj cmV0"}) {
    EXPECT_EQ(protocols(value), "401") << value;
  }
}

TEST(PresentedToken, IgnoresOtherSchemes) {
  EXPECT_EQ(authorization("Basic dXNlcjo="), "-");
  EXPECT_EQ(authorization("Bearers x"), "-");
  EXPECT_EQ(authorization(""), "-");
  EXPECT_EQ(presented({"Basic dXNlcjo=", "secret", {}}), "secret");
}

TEST(PresentedToken, MayOccurTwiceIfEqual) {
  EXPECT_EQ(presented({"Bearer secret", "secret", "skiff.bearer.c2VjcmV0"}), "secret");
  EXPECT_EQ(presented({"Bearer secret", "other", {}}), "401");
  EXPECT_EQ(presented({"Bearer secret", {}, "skiff.bearer.b3RoZXI"}), "401");
  EXPECT_EQ(presented({{}, "other", "skiff.bearer.c2VjcmV0"}), "401");
  EXPECT_EQ(protocols("skiff.bearer.c2VjcmV0, skiff.bearer.b3RoZXI"), "401");
}

TEST(Challenge, SaysInvalidTokenOnlyWhenThereWasOne) {
  EXPECT_EQ(challenge(false), "Bearer realm=\"skiff\"");
  EXPECT_EQ(challenge(true), "Bearer realm=\"skiff\", error=\"invalid_token\"");
}

TEST(Authenticator, KnowsItsTokensByDigestWithScopesAndSession) {
  Authenticator authenticator{"box-1"};
  EXPECT_TRUE(authenticator.empty());
  authenticator.add(TokenEntry{.digest = digest_of("alpha")});
  authenticator.add(TokenEntry{.digest = digest_of("beta"), .scopes = Scopes{}.with(Scope::read), .session = "s-1"});
  EXPECT_FALSE(authenticator.empty());

  const auto alpha = authenticator.authenticate("alpha");
  ASSERT_TRUE(alpha);
  EXPECT_EQ(alpha->scopes, Scopes::all());
  EXPECT_FALSE(alpha->session);
  EXPECT_FALSE(alpha->anonymous);
  EXPECT_EQ(alpha->name, "token:" + to_hex(digest_of("alpha")).substr(0, 8));
  const auto beta = authenticator.authenticate("beta");
  ASSERT_TRUE(beta);
  EXPECT_EQ(beta->scopes, Scopes{}.with(Scope::read));
  EXPECT_EQ(beta->session, "s-1");
}

TEST(Authenticator, RefusesEverythingElse) {
  Authenticator authenticator{"box-1"};
  EXPECT_FALSE(authenticator.authenticate("anything"));
  authenticator.add(TokenEntry{.digest = digest_of("alpha")});
  const std::string digest = to_hex(digest_of("alpha"));
  for (const std::string_view token :
       {std::string_view{}, std::string_view{"alph"}, std::string_view{"alphaa"}, std::string_view{"ALPHA"},
        std::string_view{digest}, std::string_view{"a.b.c"}}) {
    const auto identity = authenticator.authenticate(token);
    ASSERT_FALSE(identity) << token;
    EXPECT_EQ(identity.error().code, Errc::unauthenticated);
    if (!token.empty()) EXPECT_THAT(identity.error().message, Not(HasSubstr(std::string{token})));
  }
  EXPECT_FALSE(authenticator.authenticate(std::nullopt));
}

TEST(Authenticator, AdmitsEveryoneOnlyIfAllowed) {
  Authenticator authenticator{"box-1"};
  authenticator.allow_unauthenticated();
  EXPECT_FALSE(authenticator.empty());
  const auto nobody = authenticator.authenticate(std::nullopt);
  ASSERT_TRUE(nobody);
  EXPECT_TRUE(nobody->anonymous);
  EXPECT_EQ(nobody->name, "anonymous");
  EXPECT_EQ(nobody->scopes, Scopes::all());
  EXPECT_TRUE(authenticator.authenticate("whatever")->anonymous);

  // With configured tokens a wrong one is still refused.
  authenticator.add(TokenEntry{.digest = digest_of("alpha"), .scopes = Scopes{}.with(Scope::read)});
  EXPECT_TRUE(authenticator.authenticate(std::nullopt)->anonymous);
  EXPECT_FALSE(authenticator.authenticate("alpha")->anonymous);
  EXPECT_FALSE(authenticator.authenticate("whatever"));
}

class JwtAuthenticator : public ::testing::Test {
 protected:
  test::SigningKey issuer;
  Authenticator authenticator{"box-1"};
  JwtAuthenticator() { authenticator.add(*PublicKey::parse_pem(issuer.public_pem())); }
};

TEST_F(JwtAuthenticator, TakesScopesSessionAndNameFromTheClaims) {
  const auto identity = authenticator.authenticate(issuer.jwt(kClaims), kNow);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->scopes, Scopes{}.with(Scope::exec));
  EXPECT_EQ(identity->session, "s");
  EXPECT_EQ(identity->name, "jwt:ci");
  EXPECT_EQ(identity->expires, kNow + 60s);
  EXPECT_FALSE(authenticator.authenticate(test::SigningKey{}.jwt(kClaims), kNow));
}

TEST_F(JwtAuthenticator, RemembersAVerifiedTokenUntilItExpiresAndNoLonger) {
  const std::string token = issuer.jwt(kClaims);
  EXPECT_EQ(authenticator.cached(), 0U);
  EXPECT_TRUE(authenticator.authenticate(token, kNow));
  EXPECT_EQ(authenticator.cached(), 1U);
  const auto again = authenticator.authenticate(token, kNow + 59s);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, "jwt:ci");
  EXPECT_EQ(authenticator.cached(), 1U);
  EXPECT_FALSE(authenticator.authenticate(token, kNow + 60s));
  EXPECT_EQ(authenticator.cached(), 0U);
}

TEST_F(JwtAuthenticator, DoesNotRememberATokenThatWasRefused) {
  const std::string token = issuer.jwt(kClaims);
  EXPECT_FALSE(authenticator.authenticate(token + "x", kNow));
  EXPECT_FALSE(authenticator.authenticate(token, kNow + 1h));
  EXPECT_EQ(authenticator.cached(), 0U);
}

TEST_F(JwtAuthenticator, HonoursNotBeforeAlsoForARememberedToken) {
  const std::string token = issuer.jwt(R"({"aud":"box-1","exp":1800000060,"nbf":1800000000})");
  EXPECT_TRUE(authenticator.authenticate(token, kNow));
  EXPECT_FALSE(authenticator.authenticate(token, kNow - 1min));
}

TEST_F(JwtAuthenticator, FollowsChangesOfTheWallClock) {
  const std::string token = issuer.jwt(R"({"aud":"box-1","exp":1800000060,"nbf":1800000000})");
  EXPECT_TRUE(authenticator.authenticate(token, kNow));
  EXPECT_FALSE(authenticator.authenticate(token, kNow + 24h)) << "set forward, the token is over";
  EXPECT_TRUE(authenticator.authenticate(token, kNow + 30s)) << "set right again";
  EXPECT_FALSE(authenticator.authenticate(token, kNow - 24h)) << "set back, its time has not come";
  EXPECT_TRUE(authenticator.authenticate(token, kNow + 59s));
  EXPECT_FALSE(authenticator.authenticate(token, kNow + 60s));
}

TEST_F(JwtAuthenticator, RemembersABoundedNumber) {
  std::string first;
  for (std::size_t i = 0; i < Authenticator::kCachedJwts + 20; ++i) {
    const std::string token = issuer.jwt(R"({"aud":"box-1","exp":1800000060,"jti":")" + std::to_string(i) + "\"}");
    if (i == 0) first = token;
    ASSERT_TRUE(authenticator.authenticate(token, kNow));
    EXPECT_LE(authenticator.cached(), Authenticator::kCachedJwts);
  }
  EXPECT_TRUE(authenticator.authenticate(first, kNow));
  // All cached tokens have expired by then.
  ASSERT_TRUE(authenticator.authenticate(issuer.jwt(R"({"aud":"box-1","exp":1800009999})"), kNow + 1h));
  EXPECT_EQ(authenticator.cached(), 1U);
}

TEST_F(JwtAuthenticator, LeavesAStaticTokenThatLooksLikeAJwtValid) {
  authenticator.add(TokenEntry{.digest = digest_of("a.b.c")});
  EXPECT_TRUE(authenticator.authenticate("a.b.c", kNow));
}

TEST(AuthenticatorFromSettings, HashesAndWipesThePlainToken) {
  Settings settings;
  settings.sandbox_id = "box-1";
  settings.token = "a-plain-token-that-is-long-enough-for-the-heap";
  const char* bytes = settings.token.data();
  const std::string copy = settings.token;
  auto authenticator = Authenticator::from_settings(settings);
  ASSERT_TRUE(authenticator);
  EXPECT_TRUE(settings.token.empty());
  EXPECT_EQ(std::string_view(bytes, copy.size()).find_first_not_of('\0'), std::string_view::npos);
  EXPECT_TRUE(authenticator->authenticate(copy));
}

TEST(AuthenticatorFromSettings, TakesDigestsAndKeys) {
  const test::SigningKey issuer;
  Settings settings;
  settings.sandbox_id = "box-1";
  settings.token_sha256 = {to_hex(digest_of("alpha")), to_hex(digest_of("beta"))};
  settings.public_key_pem = issuer.public_pem();
  auto authenticator = Authenticator::from_settings(settings);
  ASSERT_TRUE(authenticator);
  EXPECT_TRUE(authenticator->authenticate("beta"));
  EXPECT_TRUE(authenticator->authenticate(issuer.jwt(kClaims), kNow));
  EXPECT_FALSE(authenticator->authenticate(std::nullopt));
}

TEST(AuthenticatorFromSettings, NamesTheInvalidSettingWithoutSecrets) {
  const auto refusal = [](auto change) {
    Settings settings;
    change(settings);
    const auto authenticator = Authenticator::from_settings(settings);
    return authenticator ? std::string{} : authenticator.error().message;
  };
  EXPECT_EQ(refusal([](Settings&) {}), "");
  EXPECT_THAT(refusal([](Settings& s) { s.token = "two words"; }),
              ::testing::AllOf(HasSubstr("SKIFF_TOKEN: "), Not(HasSubstr("words"))));
  EXPECT_THAT(refusal([](Settings& s) { s.token_sha256 = {"abc"}; }), HasSubstr("--token-sha256: "));
  EXPECT_THAT(refusal([](Settings& s) { s.token_file = "/nonexistent"; }),
              HasSubstr("--token-file: open \"/nonexistent\""));
  EXPECT_THAT(refusal([](Settings& s) { s.public_key_files = {"/nonexistent"}; }), HasSubstr("--public-key: open"));
  EXPECT_THAT(refusal([](Settings& s) { s.public_key_pem = "x"; }), HasSubstr("SKIFF_PUBLIC_KEY: "));
}

TEST(Require, NamesTheScopeThatIsMissingAndEndsWithTheToken) {
  const Identity reader{.scopes = Scopes{}.with(Scope::read), .session = "s-1", .name = "token:1", .expires = {}};
  EXPECT_TRUE(require(reader, Scope::read));
  const auto refused = require(reader, Scope::exec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::insufficient_scope);
  EXPECT_THAT(refused.error().message, HasSubstr("exec"));
  EXPECT_TRUE(require_session(reader, "s-1"));
  EXPECT_FALSE(require_session(reader, "s-2"));
  EXPECT_FALSE(require_session(reader, "default"));
  const WallTime now = wall_now();
  const Identity signed_once{.scopes = Scopes::all(), .session = {}, .name = "jwt:1", .expires = now};
  EXPECT_TRUE(require(signed_once, Scope::admin, now - std::chrono::microseconds{1}));
  const auto expired = require(signed_once, Scope::read, now);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, Errc::unauthenticated);
  const Identity anybody{.scopes = Scopes::all(), .session = {}, .name = "token:2", .expires = {}};
  EXPECT_TRUE(require_session(anybody, "s-2"));
}

TEST(Require, KeepsABoundCredentialFromChangingItsSession) {
  Identity kept{.scopes = Scopes{}.with(Scope::exec), .session = "s-1", .name = "token:1", .expires = {}};
  EXPECT_TRUE(is_kept_in(kept));
  EXPECT_FALSE(require_rule_over(kept, "s-1"));
  kept.scopes = Scopes::all();
  EXPECT_FALSE(is_kept_in(kept));
  EXPECT_TRUE(require_rule_over(kept, "s-1"));
  EXPECT_FALSE(require_rule_over(kept, "s-2"));
  const Identity runner{.scopes = Scopes{}.with(Scope::exec), .session = {}, .name = "token:2", .expires = {}};
  EXPECT_FALSE(is_kept_in(runner));
  EXPECT_TRUE(require_rule_over(runner, "s-2"));
}

}  // namespace
}  // namespace skiff::runtime
