#include "runtime/auth/jwt.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/signing_key.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using test::kNow;
using ::testing::HasSubstr;

constexpr std::string_view kGood = R"({"aud":"box-1","exp":1800000060,"scope":"exec","sub":"ci"})";

class Jwt : public ::testing::Test {
 protected:
  test::SigningKey issuer;
  std::vector<PublicKey> keys = *PublicKey::parse_pem(issuer.public_pem());

  Result<JwtClaims> verify(std::string_view token, WallTime now = kNow) {
    return verify_jwt(token, keys, "box-1", now);
  }
  /// The reason why a token with these claims is refused; empty if it is accepted.
  std::string refusal(std::string_view claims) { return why(verify(issuer.jwt(claims))); }
  std::string refused_header(std::string_view header) { return why(verify(issuer.jwt(kGood, header))); }
  static std::string why(const Result<JwtClaims>& result) {
    if (result) return "";
    EXPECT_EQ(result.error().code, Errc::unauthenticated);
    return result.error().message;
  }
};

TEST_F(Jwt, IsAcceptedWithAllClaims) {
  const auto claims = verify(issuer.jwt(
      R"({"iss":"x","sub":"ci","jti":"t-1","aud":"box-1","exp":1800000060,"nbf":1799999990,"iat":1799999980,"scope":"read exec","session":"s-1"})"));
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->subject, "ci");
  EXPECT_EQ(claims->id, "t-1");
  EXPECT_EQ(claims->scopes, Scopes{}.with(Scope::exec));
  EXPECT_EQ(claims->session, "s-1");
  EXPECT_EQ(claims->expires, kNow + 60s);
  EXPECT_EQ(claims->not_before, kNow - 10s - kJwtLeeway);
}

TEST_F(Jwt, AllowsNothingWithoutAScope) {
  const auto claims = verify(issuer.jwt(R"({"aud":"box-1","exp":1800000060})"));
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->scopes.empty());
  EXPECT_EQ(claims->subject, "");
  EXPECT_FALSE(claims->session);
}

TEST_F(Jwt, MayBeSignedByAnyOfTheKeys) {
  const test::SigningKey other;
  const std::string token = other.jwt(kGood);
  EXPECT_THAT(why(verify(token)), HasSubstr("none of the configured keys"));
  keys.push_back(PublicKey::parse_pem(other.public_pem())->front());
  EXPECT_TRUE(verify(token));
  EXPECT_TRUE(verify(issuer.jwt(kGood)));
  keys.clear();
  EXPECT_THAT(why(verify(token)), HasSubstr("none of the configured keys"));
}

TEST_F(Jwt, HasThreeParts) {
  const std::string token = issuer.jwt(kGood);
  const std::string two = token.substr(0, token.rfind('.'));
  for (const std::string& text :
       {std::string{}, std::string{"."}, std::string{"abc"}, two, token + ".", "." + token, token + ".x"}) {
    EXPECT_THAT(why(verify(text)), HasSubstr("three parts")) << text;
  }
  for (const std::string& text : {std::string{".."}, two + ".", "." + token.substr(token.find('.') + 1)}) {
    EXPECT_NE(why(verify(text)), "") << text;
  }
}

TEST_F(Jwt, IsStrictBase64url) {
  const std::string token = issuer.jwt(kGood);
  const std::size_t first = token.find('.');
  const std::size_t second = token.rfind('.');
  for (const std::size_t end_of_part : {first, second, token.size()}) {
    for (const char* extra : {"=", "==", " ", "\n", "+", "/", "A", "%3D"}) {
      std::string changed = token;
      changed.insert(end_of_part, extra);
      EXPECT_NE(why(verify(changed)), "") << end_of_part << " " << extra;
    }
  }
  // 64 bytes end in a character of which only two bits count. A character with the same two bits gives another text.
  std::string same_bytes = token;
  same_bytes.back() = static_cast<char>(same_bytes.back() + 1);
  EXPECT_THAT(why(verify(same_bytes)), HasSubstr("signature is malformed"));
}

TEST_F(Jwt, IsRefusedWhenAnyCharacterIsChanged) {
  const std::string token = issuer.jwt(kGood);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verify(changed)) << i;
    changed.erase(i, 1);
    EXPECT_FALSE(verify(changed)) << i;
  }
}

TEST_F(Jwt, AcceptsOneAlgorithmOnly) {
  for (const char* algorithm : {"none", "None", "", "HS256", "RS256", "ES256", "eddsa", "EDDSA", "Ed25519", "EdDSA "}) {
    EXPECT_THAT(refused_header(R"({"alg":")" + std::string{algorithm} + "\"}"), HasSubstr("alg is not EdDSA"))
        << algorithm;
  }
  for (const char* header : {"{}", R"({"alg":null})", R"({"alg":["EdDSA"]})", R"({"alg":1})", R"({"ALG":"EdDSA"})"}) {
    EXPECT_THAT(refused_header(header), HasSubstr("alg is not EdDSA")) << header;
  }
  const std::string unsigned_token =
      protocol::encode_base64url(R"({"alg":"none"})") + "." + protocol::encode_base64url(kGood) + ".";
  EXPECT_THAT(why(verify(unsigned_token)), HasSubstr("alg is not EdDSA"));
}

TEST_F(Jwt, IsNotSignedWithThePublicKeyAsAnHmacSecret) {
  // The classic confusion attack: a public key must not be used as a secret.
  const std::string text = protocol::encode_base64url(R"({"alg":"HS256"})") + "." + protocol::encode_base64url(kGood);
  EXPECT_THAT(why(verify(text + "." + protocol::encode_base64url(std::string(32, 'x')))),
              HasSubstr("alg is not EdDSA"));
}

TEST_F(Jwt, TakesNoKeyFromItsHeader) {
  // The header's key did sign it, but is not a configured key.
  const test::SigningKey attacker;
  const std::string pem = attacker.public_pem();
  const std::string der = *protocol::decode_base64(pem.substr(27, 60));
  const std::string header = R"({"alg":"EdDSA","kid":"x","jwk":{"kty":"OKP","crv":"Ed25519","x":")" +
                             protocol::encode_base64url(der.substr(12)) + R"("}})";
  EXPECT_THAT(why(verify(attacker.jwt(kGood, header))), HasSubstr("none of the configured keys"));
  EXPECT_EQ(refused_header(header), "");
}

TEST_F(Jwt, IgnoresOtherHeaderMembers) {
  EXPECT_EQ(refused_header(R"({"typ":"at+jwt","alg":"EdDSA","kid":"1","x":[{"a":null}]})"), "");
  EXPECT_THAT(refused_header(R"({"alg":"EdDSA","crit":["b64"],"b64":false})"), HasSubstr("crit"));
  EXPECT_THAT(refused_header(R"({"alg":"EdDSA","crit":[]})"), HasSubstr("crit"));
}

TEST_F(Jwt, HasAHeaderThatIsOneJsonObject) {
  for (const char* header : {"", "null", "[]", "\"EdDSA\"", "{", R"({"alg":"EdDSA"}x)", R"({"alg":"EdDSA",})",
                             R"({'alg':'EdDSA'})", R"(/**/{"alg":"EdDSA"})", "{\"alg\":\"EdDSA\",\"x\":\"\xff\"}"}) {
    EXPECT_THAT(refused_header(header), HasSubstr("header is not a JSON object")) << header;
  }
  EXPECT_THAT(refused_header(R"({"alg":"none","alg":"EdDSA"})"), HasSubstr("header holds a name twice"));
  EXPECT_THAT(refused_header(R"({"alg":"EdDSA","x":)" + std::string(100, '[') + std::string(100, ']') + "}"),
              HasSubstr("header is not a JSON object"));
}

TEST_F(Jwt, HasClaimsThatAreOneJsonObject) {
  for (const char* claims : {"", "null", "[]", "1", "{", R"({"aud":"box-1","exp":1800000060}{})"}) {
    EXPECT_THAT(refusal(claims), HasSubstr("claims is not a JSON object")) << claims;
  }
  EXPECT_THAT(refusal(R"({"aud":"box-1","exp":1,"exp":1800000060})"), HasSubstr("claims holds a name twice"));
  // Only names of the outermost object are checked.
  EXPECT_EQ(refusal(R"({"aud":"box-1","exp":1800000060,"x":{"a":1,"a":2}})"), "");
}

TEST_F(Jwt, RequiresExp) {
  EXPECT_THAT(refusal(R"({"aud":"box-1"})"), HasSubstr("no exp"));
  for (const char* exp :
       {"null", "\"1800000060\"", "true", "-1", "[1800000060]", "{}", "253402300800", "1e300", "-0.5"}) {
    EXPECT_THAT(refusal(R"({"aud":"box-1","exp":)" + std::string{exp} + "}"), HasSubstr("exp is not a time")) << exp;
  }
  EXPECT_NE(refusal(R"({"aud":"box-1","exp":1e999})"), "");
  EXPECT_THAT(refusal(R"({"aud":"box-1","exp":0})"), HasSubstr("expired"));
  EXPECT_THAT(refusal(R"({"aud":"box-1","exp":1799999999})"), HasSubstr("expired"));
  // The expiry is exact to the microsecond, without leeway.
  EXPECT_THAT(refusal(R"({"aud":"box-1","exp":1800000000})"), HasSubstr("expired"));
  EXPECT_EQ(refusal(R"({"aud":"box-1","exp":1800000000.5})"), "");
  EXPECT_EQ(refusal(R"({"aud":"box-1","exp":18e8})"), refusal(R"({"aud":"box-1","exp":1800000000})"));
  const std::string token = issuer.jwt(kGood);
  EXPECT_TRUE(verify(token, kNow + 60s - 1us));
  EXPECT_FALSE(verify(token, kNow + 60s));
}

TEST_F(Jwt, IsNotValidBeforeItsTime) {
  for (const std::string name : {"nbf", "iat"}) {
    const auto with = [&](const std::string& value) {
      return refusal(R"({"aud":"box-1","exp":1800000060,")" + name + "\":" + value + "}");
    };
    EXPECT_EQ(with("1800000000"), "");
    EXPECT_EQ(with("1800000005"), "") << "within the leeway";
    EXPECT_THAT(with("1800000006"), HasSubstr(name + " is in the future"));
    EXPECT_THAT(with("\"now\""), HasSubstr(name + " is not a time"));
    EXPECT_THAT(with("null"), HasSubstr(name + " is not a time"));
    EXPECT_THAT(with("-1"), HasSubstr(name + " is not a time"));
  }
}

TEST_F(Jwt, IsForThisSandboxOnly) {
  const auto with = [&](const std::string& aud) { return refusal(R"({"exp":1800000060,"aud":)" + aud + "}"); };
  EXPECT_EQ(with(R"("box-1")"), "");
  EXPECT_EQ(with(R"(["box-0","box-1"])"), "");
  for (const char* aud : {R"("box-2")", R"("BOX-1")", R"("box-1 ")", R"("box-")", R"("")", "[]", R"(["box-2"])",
                          R"([["box-1"]])", "null", "1", R"({"box-1":"box-1"})", R"("box-1\u0000")"}) {
    EXPECT_THAT(with(aud), HasSubstr("aud is not this sandbox")) << aud;
  }
  EXPECT_THAT(refusal(R"({"exp":1800000060})"), HasSubstr("aud is not this sandbox"));
}

TEST_F(Jwt, RequiresStringsForTextClaims) {
  const auto with = [&](const std::string& more) {
    return refusal(R"({"aud":"box-1","exp":1800000060,)" + more + "}");
  };
  EXPECT_THAT(with(R"("sub":1)"), HasSubstr("sub is not a string"));
  EXPECT_THAT(with(R"("jti":1)"), HasSubstr("jti is not a string"));
  EXPECT_THAT(with(R"("scope":["read"])"), HasSubstr("scope is not a string"));
  EXPECT_THAT(with(R"("scope":null)"), HasSubstr("scope is not a string"));
  EXPECT_THAT(with(R"("session":1)"), HasSubstr("session is not an id"));
  EXPECT_THAT(with(R"("session":null)"), HasSubstr("session is not an id"));
  EXPECT_THAT(with(R"("session":"")"), HasSubstr("session is not an id"));
  EXPECT_THAT(with(R"("session":"../x")"), HasSubstr("session is not an id"));
}

TEST_F(Jwt, IsAtMostEightKibibytesLong) {
  const auto padded = [&](std::size_t size) {
    return issuer.jwt(R"({"aud":"box-1","exp":1800000060,"x":")" + std::string(size, 'x') + "\"}");
  };
  EXPECT_TRUE(verify(padded(5000)));
  EXPECT_THAT(why(verify(padded(7000))), HasSubstr("longer than 8 KiB"));
  EXPECT_THAT(why(verify(std::string(1 << 20, '.'))), HasSubstr("longer than 8 KiB"));
}

TEST_F(Jwt, ChecksItsSignatureBeforeItsClaims) {
  // The claims are not JSON, but the error is about the signature.
  const test::SigningKey other;
  EXPECT_THAT(why(verify(other.jwt("{"))), HasSubstr("signature is by none"));
}

TEST_F(Jwt, NeverAppearsInAnError) {
  const std::string token = issuer.jwt(R"({"aud":"other","exp":1800000060,"sub":"someone"})");
  const std::string message = why(verify(token));
  EXPECT_THAT(message, Not(HasSubstr("someone")));
  EXPECT_THAT(message, Not(HasSubstr("other")));
  EXPECT_THAT(message, Not(HasSubstr(token.substr(0, 10))));
}

}  // namespace
}  // namespace skiff::runtime
