#include "container/serve/gateway/credential_form.hpp"

#include <string>

#include <gtest/gtest.h>

#include "protocol/json/base64.hpp"

namespace skiff::container::serve {
namespace {

TEST(CredentialForm, OfAKeyIsFoundAnywhere) {
  const std::string key = "e2b_" + std::string(40, 'F');
  for (const std::string& text : {key, "x" + key, key + "0", "e2b_e2b_" + std::string(40, '1')})
    EXPECT_TRUE(holds_key(text)) << text;
  for (const std::string& text :
       {std::string{}, std::string{"e2b_"}, "e2b_" + std::string(39, 'f'), "E2B_" + std::string(40, 'f')}) {
    EXPECT_FALSE(holds_key(text)) << text;
  }
}

TEST(CredentialForm, OfAnAccountsTokenSaysWhenItEnds) {
  const auto token = [](const std::string& claims) { return "e30." + protocol::encode_base64url(claims) + ".AAAA"; };
  const std::string sub = R"("sub":"system:serviceaccount:a:b")";
  EXPECT_EQ(end_of_account_token(token(R"({"aud":"skiff","exp":5,)" + sub + "}")), 5);
  EXPECT_EQ(end_of_account_token(token(R"({"aud":["x","skiff"],"exp":5,)" + sub + "}")), 5);
  for (const std::string& claims :
       {R"({"aud":"other","exp":5,)" + sub + "}", std::string{R"({"aud":"skiff","exp":5,"sub":"me"})"},
        R"({"aud":"skiff","exp":-5,)" + sub + "}", R"({"aud":"skiff",)" + sub + "}", std::string{"[]"}}) {
    EXPECT_FALSE(is_account_token(token(claims))) << claims;
  }
  EXPECT_FALSE(is_account_token("1.2.3"));
  EXPECT_FALSE(is_account_token("a.b"));
}

}  // namespace
}  // namespace skiff::container::serve
