#include "container/launcher/signing_key.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(SigningKey, IsTheSameAfterItWasWrittenAndRead) {
  const auto key = SigningKey::generate();
  ASSERT_TRUE(key);
  const auto read = SigningKey::parse_pem(key->private_pem().value());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->public_pem().value(), key->public_pem().value());
  // Ed25519 signatures are a function of key and message (RFC 8032).
  EXPECT_EQ(read->sign("text").value(), key->sign("text").value());
  EXPECT_EQ(key->sign("text").value().size(), 64U);
  EXPECT_NE(key->sign("text").value(), key->sign("text2").value());
}

TEST(SigningKey, IsAnotherOneEachTime) {
  EXPECT_NE(SigningKey::generate()->public_pem().value(), SigningKey::generate()->public_pem().value());
}

TEST(SigningKey, GivesThePublicHalfInTheFormThatSkiffdReads) {
  EXPECT_TRUE(SigningKey::generate()->public_pem().value().starts_with("-----BEGIN PUBLIC KEY-----\n"));
}

TEST(SigningKey, IsReadFromNothingElse) {
  EXPECT_EQ(SigningKey::parse_pem("").error().code, Errc::invalid_field);
  EXPECT_EQ(SigningKey::parse_pem("nonsense").error().code, Errc::invalid_field);
  const auto key = SigningKey::generate();
  EXPECT_EQ(SigningKey::parse_pem(key->public_pem().value()).error().code, Errc::invalid_field);
}

}  // namespace
}  // namespace skiff::container
