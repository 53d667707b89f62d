#include "container/cli/output/failures.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(Failures, AreNoneWhenNothingWentWrong) {
  EXPECT_EQ(Failures("stop", "stopped", 2).status().value_or(1), 0);
}

TEST(Failures, OfOneNameAreTheErrorItself) {
  Failures failures{"stop", "stopped", 1};
  failures.add("box", {Errc::sandbox_not_found, "there is no sandbox \"box\"", "name"});
  const auto status = std::move(failures).status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "there is no sandbox \"box\"");
  EXPECT_EQ(status.error().field, "name");
}

TEST(Failures, OfSeveralAreToldAsTheyComeAndSummedUp) {
  Failures failures{"stop", "stopped", 3};
  ::testing::internal::CaptureStderr();
  failures.add("one", {Errc::sandbox_not_found, "there is none", "name"});
  failures.add("two", {Errc::timeout, "it takes too long"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "skiff: one: there is none\nskiff: two: it takes too long\n");
  const auto status = std::move(failures).status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::sandbox_not_found);
  EXPECT_EQ(status.error().message, "not everything could be stopped");
}

}  // namespace
}  // namespace skiff::container
