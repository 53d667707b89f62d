#include "container/agent/seal.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skiff::container {
namespace {

TEST(Seal, SaysWhichKeyWasUsed) {
  const SigningKeys keys{.current = SigningKey::generate().value(), .older = {SigningKey::generate().value()}};
  for (const SigningKey& key : {keys.current, keys.older.front()}) {
    const auto found = sealed_by(keys, "[text]", create_seal(key, "[text]").value());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fingerprint().value(), key.fingerprint().value());
  }
}

TEST(Seal, DoesNotHoldForAnotherTextOrWithoutTheKey) {
  const SigningKeys keys{.current = SigningKey::generate().value()};
  const std::string seal = create_seal(keys.current, "[text]").value();
  EXPECT_TRUE(sealed_by(keys, "[text]", seal));
  EXPECT_FALSE(sealed_by(keys, "[text] ", seal));
  EXPECT_FALSE(sealed_by(keys, "", seal));
  const std::string theirs = create_seal(SigningKey::generate().value(), "[text]").value();
  for (const std::string& other : {theirs, std::string{}, std::string{"%"}, seal + "=", seal.substr(1)}) {
    EXPECT_FALSE(sealed_by(keys, "[text]", other)) << other;
  }
}

}  // namespace
}  // namespace skiff::container
