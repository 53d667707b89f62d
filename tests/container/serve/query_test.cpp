#include "container/serve/query.hpp"

#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

using Pairs = std::map<std::string, std::string>;

protocol::Target target_of(const std::string& text) {
  return protocol::Target::parse(text).value();
}

TEST(Query, HasALimitOrTheLargestOne) {
  EXPECT_EQ(limit_of(target_of("/"), 100), 100U);
  EXPECT_EQ(limit_of(target_of("/?limit=7"), 100), 7U);
  for (const char* wrong : {"0", "101", "-1", "x", "1x", "", "99999999999999999999"}) {
    EXPECT_FALSE(limit_of(target_of(std::string{"/?limit="} + wrong), 100)) << wrong;
  }
}

TEST(Query, HasANumberWithinBounds) {
  EXPECT_EQ(number_of(target_of("/"), "n", 0, 9), std::nullopt);
  EXPECT_EQ(number_of(target_of("/?n=0"), "n", 0, 9), 0U);
  EXPECT_EQ(number_of(target_of("/?n=9"), "n", 0, 9), 9U);
  for (const char* wrong : {"10", "-1", "x", "1x", "", "%201", "99999999999999999999"}) {
    EXPECT_FALSE(number_of(target_of(std::string{"/?n="} + wrong), "n", 0, 9)) << wrong;
  }
}

TEST(Query, HasOneIdempotencyKeyOfVisibleCharacters) {
  EXPECT_EQ(idempotency_key_of({}), "");
  EXPECT_EQ(idempotency_key_of({{"Idempotency-Key", "a-1"}}), "a-1");
  EXPECT_FALSE(idempotency_key_of({{"Idempotency-Key", "a b"}}));
  EXPECT_FALSE(idempotency_key_of({{"Idempotency-Key", std::string(256, 'a')}}));
  EXPECT_FALSE(idempotency_key_of({{"Idempotency-Key", "a"}, {"Idempotency-Key", "a"}}));
}

TEST(Query, HasPairsInAValue) {
  EXPECT_EQ(parse_pairs_of("u=1&with%20space=a%26b&alone"), (Pairs{{"u", "1"}, {"with space", "a&b"}, {"alone", ""}}));
  EXPECT_EQ(parse_pairs_of(""), Pairs{});
  EXPECT_EQ(parse_pairs_of("&&=x"), Pairs{});
  EXPECT_FALSE(parse_pairs_of("a=%zz"));
}

}  // namespace
}  // namespace skiff::container::serve
