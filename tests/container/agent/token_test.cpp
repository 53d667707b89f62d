#include "container/agent/token.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{std::chrono::seconds{1'700'000'000}};

TEST(Token, IsAJwtForOneSandboxThatEnds) {
  const auto key = SigningKey::generate();
  ASSERT_TRUE(key);
  const auto token = sign_token(*key, "s-1", "me@here", {.scope = "read exec", .lifetime = 60s}, kNow);
  ASSERT_TRUE(token);
  const std::size_t first = token->find('.');
  const std::size_t second = token->find('.', first + 1);
  const auto header = nlohmann::json::parse(protocol::decode_base64url(token->substr(0, first)).value());
  EXPECT_EQ(header["alg"], "EdDSA");
  const auto claims =
      nlohmann::json::parse(protocol::decode_base64url(token->substr(first + 1, second - first - 1)).value());
  EXPECT_EQ(claims["aud"], "s-1");
  EXPECT_EQ(claims["sub"], "me@here");
  EXPECT_EQ(claims["scope"], "read exec");
  EXPECT_EQ(claims["iat"], 1'699'999'940) << "an agent whose clock is behind takes it too";
  EXPECT_EQ(claims["exp"], 1'700'000'060);
  EXPECT_FALSE(claims["jti"].get<std::string>().empty());
}

TEST(Token, IsSignedSoThatThePublicKeyVerifiesIt) {
  const auto key = SigningKey::generate();
  ASSERT_TRUE(key);
  const auto token = sign_token(*key, "s-1", "me", {}, kNow);
  ASSERT_TRUE(token);
  const std::string pem = key->public_pem().value();
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                      &BIO_free};
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> known{
      PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free};
  const std::size_t dot = token->rfind('.');
  const std::string signature = protocol::decode_base64url(token->substr(dot + 1)).value();
  const auto verify = [&](std::string_view text) {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
    EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, known.get());
    return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  };
  EXPECT_TRUE(verify(token->substr(0, dot)));
  EXPECT_FALSE(verify(token->substr(0, dot - 1)));
}

TEST(Token, IsRefusedForScopesAndTimesThatMakeNoSense) {
  EXPECT_TRUE(check_grant({}));
  EXPECT_TRUE(check_grant({.scope = "read", .lifetime = 1s}));
  for (const char* scope : {"", "all", "read all", "read  exec", " read", "READ"}) {
    EXPECT_EQ(check_grant({.scope = scope}).error().code, Errc::invalid_field) << scope;
  }
  EXPECT_FALSE(check_grant({.lifetime = 0s}));
  EXPECT_FALSE(check_grant({.lifetime = std::chrono::days{366}}));
}

}  // namespace
}  // namespace skiff::container
