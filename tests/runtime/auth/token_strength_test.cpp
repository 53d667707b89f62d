#include "runtime/auth/token_strength.hpp"

#include <string>

#include <gtest/gtest.h>

#include "runtime/auth/token_file.hpp"

namespace skiff::runtime {
namespace {

TEST(TokenStrength, Requires128Bits) {
  const std::string good = new_token();
  EXPECT_FALSE(is_weak_token(good));
  EXPECT_FALSE(is_weak_token("-_3456789abcdefghijklm"));
  EXPECT_TRUE(is_weak_token("-_3456789abcdefghijkl"));
  EXPECT_FALSE(is_weak_token("0123456789abcdef0123456789ABCDEF"));
  EXPECT_TRUE(is_weak_token("0123456789abcdef0123456789abcde"));
  EXPECT_TRUE(is_weak_token("a"));
  EXPECT_TRUE(is_weak_token(""));
}

}  // namespace
}  // namespace skiff::runtime
