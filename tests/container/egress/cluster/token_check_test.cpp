#include "container/egress/cluster/token_check.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/clock.hpp"

namespace skiff::container::egress {
namespace {

struct Checked {
  SigningKey key = SigningKey::generate().value();
  Result<std::string> text = key.public_pem();
  TokenCheck check{[this] { return text; }};
  TokenCheck::Shown shown = {};

  [[nodiscard]] static std::string token(const SigningKey& by, const std::string& sandbox = "s-1") {
    return sign_egress_token(by, sandbox, wall_now()).value();
  }
  [[nodiscard]] bool is_good(const std::string& token) { return check.is_of("s-1", token, &shown).value(); }
};

TEST(TokenCheck, TakesTheSandboxsOwnTokenEachTime) {
  Checked on;
  const std::string mine = Checked::token(on.key);
  EXPECT_TRUE(on.is_good(mine));
  EXPECT_EQ(on.shown.token, mine);
  EXPECT_TRUE(on.is_good(mine));
  for (const std::string& other : {Checked::token(on.key, "s-2"), mine.substr(0, mine.size() - 1), mine + "A",
                                   "A" + mine.substr(1), std::string{}, std::string{"a.b.c"}}) {
    EXPECT_FALSE(on.is_good(other)) << other;
    EXPECT_EQ(on.shown.token, mine);
  }
  EXPECT_TRUE(on.is_good(mine));
}

TEST(TokenCheck, ATokenIsNoTokenOfAnotherKey) {
  Checked on;
  const SigningKey next = SigningKey::generate().value();
  const std::string mine = Checked::token(on.key);
  EXPECT_TRUE(on.is_good(mine));
  on.text = next.public_pem();
  EXPECT_FALSE(on.is_good(mine)) << "its key is gone";
  EXPECT_TRUE(on.is_good(Checked::token(next)));
  on.text = on.key.public_pem().value() + next.public_pem().value();
  EXPECT_TRUE(on.is_good(mine)) << "both count while a key is rotated";
  EXPECT_TRUE(on.is_good(Checked::token(next)));
}

TEST(TokenCheck, NoTokenIsGoodWhileTheKeysCannotBeRead) {
  Checked on;
  const std::string mine = Checked::token(on.key);
  EXPECT_TRUE(on.is_good(mine));
  for (const Result<std::string>& broken :
       {Result<std::string>{fail(Errc::not_found, "gone")}, Result<std::string>{""}, Result<std::string>{"no PEM"}}) {
    on.text = broken;
    EXPECT_FALSE(on.check.is_of("s-1", mine, &on.shown).has_value());
  }
  on.text = on.key.public_pem();
  EXPECT_TRUE(on.is_good(mine));
}

}  // namespace
}  // namespace skiff::container::egress
