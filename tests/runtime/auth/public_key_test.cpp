#include "runtime/auth/public_key.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/signing_key.hpp"

namespace skiff::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string key_refusal(std::string_view pem) {
  const auto keys = PublicKey::parse_pem(pem);
  return keys ? "" : keys.error().message;
}

bool verifies(const PublicKey& key, std::string_view message, const std::string& signature) {
  return key.verify(message, {reinterpret_cast<const unsigned char*>(signature.data()), signature.size()});
}

TEST(PublicKey, VerifiesWhatItsPrivateKeySigned) {
  const test::SigningKey issuer;
  const auto keys = PublicKey::parse_pem(issuer.public_pem());
  ASSERT_TRUE(keys) << keys.error().message;
  ASSERT_EQ(keys->size(), 1U);
  const std::string signature = issuer.sign("message");
  EXPECT_TRUE(verifies(keys->front(), "message", signature));
  EXPECT_FALSE(verifies(keys->front(), "messagf", signature));
  EXPECT_FALSE(verifies(keys->front(), "message", test::SigningKey{}.sign("message")));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(verifies(keys->front(), "message", changed)) << i;
  }
  EXPECT_FALSE(verifies(keys->front(), "message", ""));
  EXPECT_FALSE(verifies(keys->front(), "message", signature + "x"));
}

TEST(PublicKey, PassesTheVectorOfRfc8032) {
  // Section 7.1, TEST 1: the empty message.
  const auto keys = PublicKey::parse_pem(
      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC "
      "KEY-----\n");
  ASSERT_TRUE(keys) << keys.error().message;
  const std::string signature = *protocol::decode_base64(
      "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw==");
  EXPECT_TRUE(verifies(keys->front(), "", signature));
  EXPECT_FALSE(verifies(keys->front(), "x", signature));
}

TEST(PublicKey, ComesInSeveralBlocksAndAnyLineEnd) {
  const test::SigningKey first;
  const test::SigningKey second;
  std::string pem = "\n" + first.public_pem() + "\n\n" + second.public_pem();
  EXPECT_EQ(PublicKey::parse_pem(pem)->size(), 2U);
  std::string crlf;
  for (const char c : pem) crlf += c == '\n' ? "\r\n" : std::string{c};
  EXPECT_EQ(PublicKey::parse_pem(crlf)->size(), 2U);
  // Put the key on one line, as some tools do in a variable.
  std::ranges::replace(pem, '\n', ' ');
  EXPECT_EQ(PublicKey::parse_pem(pem)->size(), 2U);
}

TEST(PublicKey, RefusesOtherText) {
  const std::string pem = test::SigningKey{}.public_pem();
  EXPECT_EQ(key_refusal(""), "it contains no key");
  EXPECT_EQ(key_refusal(" \n"), "it contains no key");
  EXPECT_THAT(key_refusal("key:\n" + pem), HasSubstr("expected \"-----BEGIN PUBLIC KEY-----\""));
  EXPECT_THAT(key_refusal(pem + "rest"), HasSubstr("expected \"-----BEGIN PUBLIC KEY-----\""));
  EXPECT_THAT(key_refusal(pem.substr(0, pem.find("-----END"))), HasSubstr("END PUBLIC KEY"));
  EXPECT_EQ(key_refusal("-----BEGIN PUBLIC KEY-----\n????\n-----END PUBLIC KEY-----"),
            "the text between BEGIN and END is not base64");
  EXPECT_EQ(key_refusal("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"), "it is not an Ed25519 key");
  for (const char* type : {"X25519", "ED448"}) {
    EXPECT_EQ(key_refusal(test::SigningKey{type}.public_pem()), "it is not an Ed25519 key") << type;
  }
  const std::string secret = test::SigningKey{}.private_pem();
  EXPECT_THAT(key_refusal(secret), HasSubstr("private key"));
  EXPECT_THAT(key_refusal(secret), Not(HasSubstr(secret.substr(28, 10))));
}

TEST(PublicKey, NamesTheFileItCouldNotRead) {
  const auto keys = PublicKey::read_pem_file("/nonexistent/key.pem");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().message, "open \"/nonexistent/key.pem\": No such file or directory");
}

}  // namespace
}  // namespace skiff::runtime
