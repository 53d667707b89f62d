#include "container/net/retry_after.hpp"

#include <gtest/gtest.h>

namespace skiff::net {
namespace {

using namespace std::chrono_literals;

TEST(RetryAfter, IsSecondsAndNothingElse) {
  EXPECT_EQ(retry_after({{"Retry-After", "0"}}), 0ms);
  EXPECT_EQ(retry_after({{"Retry-After", "7"}}), 7s);
  for (const char* text : {"", "-1", "1s", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999999999999", "1000000"}) {
    EXPECT_FALSE(retry_after({{"Retry-After", text}})) << text;
  }
  EXPECT_FALSE(retry_after({}));
}

}  // namespace
}  // namespace skiff::net
