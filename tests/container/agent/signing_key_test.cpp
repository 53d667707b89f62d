#include "container/agent/signing_key.hpp"

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

TEST(SigningKeys, AreReadOneBehindTheOther) {
  const auto first = SigningKey::generate().value();
  const auto second = SigningKey::generate().value();
  const auto read = SigningKey::parse_pems(first.private_pem().value() + second.private_pem().value());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].fingerprint().value(), first.fingerprint().value());
  EXPECT_EQ((*read)[1].fingerprint().value(), second.fingerprint().value());
  EXPECT_NE(first.fingerprint().value(), second.fingerprint().value());
  EXPECT_TRUE(SigningKey::parse_pems("")->empty());
  EXPECT_FALSE(SigningKey::parse_pems(first.private_pem().value() + "and more"));
  EXPECT_FALSE(SigningKey::parse_pems(first.public_pem().value()));
}

TEST(SigningKeys, SignForAnAgentWithTheOneThatItKnows) {
  const auto current = SigningKey::generate().value();
  const auto before = SigningKey::generate().value();
  const SigningKeys keys{.current = current, .older = {SigningKey::generate().value(), before}};
  const auto for_agent = [&](const std::string& configured) { return keys.of_agent(configured).fingerprint().value(); };
  EXPECT_EQ(for_agent(current.public_pem().value()), current.fingerprint().value());
  EXPECT_EQ(for_agent(before.public_pem().value()), before.fingerprint().value());
  EXPECT_EQ(for_agent(before.public_pem().value() + current.public_pem().value()), current.fingerprint().value());
  EXPECT_EQ(for_agent(""), current.fingerprint().value());
  EXPECT_FALSE(keys.are_known_to(SigningKey::generate()->public_pem().value()));
  EXPECT_TRUE(keys.are_known_to(before.public_pem().value()));
}

}  // namespace
}  // namespace skiff::container
