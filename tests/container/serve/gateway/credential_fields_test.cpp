#include "container/serve/gateway/credential_fields.hpp"

#include <string>

#include <gtest/gtest.h>

#include "protocol/json/base64.hpp"

namespace skiff::container::serve {
namespace {

const std::string kShownKey = "e2b_" + std::string(40, 'a');

std::string account_token(const std::string& audience) {
  const std::string claims = R"({"aud":[")" + audience + R"("],"sub":"system:serviceaccount:a:b","exp":4000000000})";
  return "eyJhbGciOiJSUzI1NiJ9." + protocol::encode_base64url(claims) + ".AAAA";
}

TEST(CredentialFields, KnowACredentialWhereverItStands) {
  for (const std::string& shown :
       {kShownKey, "Bearer  " + kShownKey, "Bearer\t" + kShownKey, "Token token=" + kShownKey + ";",
        "Bearer   " + account_token("skiff") + " \t", account_token("skiff")}) {
    EXPECT_TRUE(shows_credential(shown)) << shown;
  }
  for (const std::string& other :
       {std::string{"Basic dXNlcjpwYXNz"}, std::string{"e2b_1234"}, "Bearer " + account_token("app"),
        std::string{"1.2.3"}, std::string{}, std::string{" "}, std::string{"Bearer a.b.c"}}) {
    EXPECT_FALSE(shows_credential(other)) << other;
  }
}

TEST(CredentialFields, GoAndOthersStay) {
  const protocol::Headers given{{"X-API-Key", "k"},
                                {"x_api_key", "k"},
                                {"X-Skiff-Token", "t"},
                                {"X_Access_Token", "t"},
                                {"X-Access-Token", "t"},
                                {"X-Forwarded-Authorization", "Bearer " + kShownKey},
                                {"Authorization", "Bearer of the application"},
                                {"X-Own", "1"}};
  protocol::Headers fields = given;
  remove_credentials(fields, false);
  EXPECT_EQ(fields.get("Authorization"), "Bearer of the application");
  EXPECT_EQ(fields.get("X-Own"), "1");
  for (const char* name :
       {"X-API-Key", "x_api_key", "X-Skiff-Token", "X_Access_Token", "X-Access-Token", "X-Forwarded-Authorization"}) {
    EXPECT_FALSE(fields.contains(name)) << name;
  }
  fields = given;
  remove_credentials(fields, true);
  EXPECT_EQ(fields.get("X-Access-Token"), "t");
  EXPECT_FALSE(fields.contains("X_Access_Token"));
}

TEST(CredentialFields, OfThePagesSessionReachNobody) {
  protocol::Headers fields{{"Cookie", "a=1; skiff-session=s;__Host-skiff-session=s; skiff-sessions=2"},
                           {"Cookie", "skiff-session=s"}};
  remove_credentials(fields, true);
  EXPECT_EQ(fields.count("Cookie"), 1);
  EXPECT_EQ(fields.get("Cookie"), "a=1; skiff-sessions=2");
}

TEST(CredentialFields, OfThePagesSessionAreSetByNobody) {
  protocol::Headers answer{{"Set-Cookie", "own=1; Path=/"},
                           {"set-cookie", "skiff-session=x"},
                           {"Set-Cookie", "__Host-skiff-session=x; Secure"},
                           {"Set-Cookie", "=skiff-session=x"},
                           {"Set-Cookie", " skiff-session =x"},
                           {"Set-Cookie", "two=2"}};
  keep_cookies_of_others(answer);
  EXPECT_EQ(answer.count("Set-Cookie"), 2);
  EXPECT_EQ(answer.get("Set-Cookie"), "own=1; Path=/");
}

TEST(CredentialFields, OfADocumentBesideAPageLetNothingRun) {
  protocol::Headers answer{{"Content-Security-Policy", "default-src *"},
                           {"X-Content-Type-Options", "no"},
                           {"Set-Cookie", "skiff-session=x"},
                           {"Location", "/elsewhere"}};
  keep_from_running(answer);
  EXPECT_EQ(answer.count("Content-Security-Policy"), 2);
  EXPECT_EQ(answer[answer.size() - 2].value, "sandbox");
  EXPECT_EQ(answer.get("X-Content-Type-Options"), "nosniff");
  EXPECT_FALSE(answer.contains("Set-Cookie"));
  EXPECT_EQ(answer.get("Location"), "/elsewhere");
}

TEST(CredentialFields, OfCookiesOneAloneGoes) {
  protocol::Headers fields{{"Cookie", "a=1; x=" + kShownKey + ";b=2"}, {"cookie", "y=" + kShownKey}, {"Cookie", "c=3"}};
  remove_credentials(fields, false);
  EXPECT_EQ(fields.count("Cookie"), 2);
  EXPECT_EQ(fields.get("Cookie"), "a=1; b=2");
}

TEST(CredentialFields, OfAnAnswerEndNoCookiesOfOthers) {
  const auto left = [](const std::string& value) {
    protocol::Headers answer{{"clear-site-data", value}};
    keep_cookies_of_others(answer);
    return std::string{answer.get("Clear-Site-Data")};
  };
  EXPECT_EQ(left(R"("cookies")"), "");
  EXPECT_EQ(left(R"("cache" ,"cookies", "storage")"), R"("cache", "storage")");
  EXPECT_EQ(left(R"( "*" )"), R"("cache", "storage", "executionContexts")");
  EXPECT_EQ(left(R"("cache")"), R"("cache")");
}

TEST(CredentialFields, KeepToContent) {
  protocol::Headers answer{{"Content-Type", "text/html"},
                           {"Set-Cookie", "a=b"},
                           {"set-cookie", "c=d"},
                           {"ETag", "x"},
                           {"Clear-Site-Data", "\"*\""},
                           {"Location", "/v1/sandboxes/x/stop"},
                           {"Content-Security-Policy", "default-src *"}};
  keep_to_content(answer);
  EXPECT_EQ(answer.size(), 2U);
  EXPECT_EQ(answer.get("Content-Type"), "text/html");
  EXPECT_EQ(answer.get("ETag"), "x");
}

}  // namespace
}  // namespace skiff::container::serve
