#include "container/agent/egress_token.hpp"

#include <string>

#include <gtest/gtest.h>

#include "container/agent/token.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

class EgressTokenTest : public testing::Test {
 protected:
  SigningKey key_ = SigningKey::generate().value();
  SigningKey other_ = SigningKey::generate().value();
  EgressKeys keys_ = EgressKeys::parse_pems(key_.public_pem().value()).value();
};

TEST_F(EgressTokenTest, NamesItsSandbox) {
  const auto token = sign_egress_token(key_, "s-1", wall_now()).value();
  EXPECT_EQ(keys_.sandbox_of(token), "s-1");
  const auto both = EgressKeys::parse_pems(other_.public_pem().value() + key_.public_pem().value()).value();
  EXPECT_EQ(both.sandbox_of(token), "s-1") << "an older key is known, too";
}

TEST_F(EgressTokenTest, IsTakenAsItWasSignedAlone) {
  const auto token = sign_egress_token(key_, "s-1", wall_now()).value();
  EXPECT_FALSE(keys_.sandbox_of(sign_egress_token(other_, "s-1", wall_now()).value()));
  EXPECT_FALSE(keys_.sandbox_of(sign_token(key_, "s-1", "me", {}, wall_now()).value())) << "a token for an agent";
  EXPECT_FALSE(keys_.sandbox_of(""));
  EXPECT_FALSE(keys_.sandbox_of(token.substr(0, token.rfind('.'))));
  EXPECT_FALSE(keys_.sandbox_of(token.substr(0, token.rfind('.') + 1)));
  for (std::size_t i = 0; i + 1 < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(keys_.sandbox_of(changed)) << i;
  }
  const std::string claims = protocol::encode_base64url(R"({"aud":"egress","sub":"s-1"})");
  EXPECT_FALSE(keys_.sandbox_of(protocol::encode_base64url(R"({"alg":"none"})") + '.' + claims + '.'));
}

TEST_F(EgressTokenTest, KeysAreOfEd25519) {
  EXPECT_FALSE(EgressKeys::parse_pems(""));
  EXPECT_FALSE(EgressKeys::parse_pems("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"));
  EXPECT_FALSE(EgressKeys::parse_pems(key_.private_pem().value()));
}

}  // namespace
}  // namespace skiff::container
