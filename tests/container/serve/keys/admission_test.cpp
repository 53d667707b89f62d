#include "container/serve/keys/admission.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

ApiKey limited(std::uint64_t sandboxes, std::uint64_t a_minute) {
  return {.name = "k",
          .sha256 = "digest",
          .tenant = "t",
          .scopes = {},
          .max_sandboxes = sandboxes,
          .creations_per_minute = a_minute,
          .created_at = {},
          .expires_ms = {}};
}

TEST(Admission, CountsWhatRunsAndWhatIsUnderWayOnceEach) {
  Admission admission;
  const ApiKey key = limited(2, 0);
  auto first = admission.enter(key, "a", {"x"});
  ASSERT_TRUE(first);
  EXPECT_FALSE(admission.enter(key, "b", {"x"}));
  // The record of the first one is there meanwhile.
  EXPECT_FALSE(admission.enter(key, "b", {"x", "a"}));
  {
    const auto gone = std::move(*first);
  }
  EXPECT_TRUE(admission.enter(key, "b", {"x"}));
}

TEST(Admission, DoesNotCountTheOneThatAsksAgain) {
  Admission admission;
  const ApiKey key = limited(1, 0);
  EXPECT_TRUE(admission.enter(key, "a", {"a"}));
  EXPECT_FALSE(admission.enter(key, "a", {"b"}));
}

TEST(Admission, LetsInSoManyAMinute) {
  Admission admission;
  const ApiKey key = limited(0, 2);
  const SteadyTime begin{};
  EXPECT_TRUE(admission.count_creation(key, begin));
  EXPECT_TRUE(admission.count_creation(key, begin + 10s));
  const auto refused = admission.count_creation(key, begin + 20s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(admission.retry_after(key, begin + 20s), 40s);
  EXPECT_TRUE(admission.count_creation(key, begin + 60s));
  EXPECT_FALSE(admission.count_creation(key, begin + 61s));
  admission.forget_creation(key);
  EXPECT_TRUE(admission.count_creation(key, begin + 61s));
}

TEST(Admission, LimitsNothingWithoutALimit) {
  Admission admission;
  const ApiKey key = limited(0, 0);
  EXPECT_TRUE(admission.enter(key, "a", {"b", "c"}));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(admission.count_creation(key, SteadyTime{}));
}

}  // namespace
}  // namespace skiff::container::serve
