#include "container/sandbox/progress.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(BringUpFailure, GivesItsReasonBack) {
  for (const FailureReason reason : {FailureReason::image_pull, FailureReason::exited, FailureReason::not_ready}) {
    const Error error = bring_up_failure(reason, "why");
    EXPECT_EQ(error.code, Errc::sandbox_failed);
    EXPECT_EQ(failure_reason(error), reason);
  }
  const Error quota = bring_up_failure(FailureReason::quota, "why");
  EXPECT_EQ(quota.code, Errc::quota_exceeded);
  EXPECT_EQ(failure_reason(quota), FailureReason::quota);
  EXPECT_EQ(failure_reason({Errc::cluster_unavailable, "x", "admission"}), FailureReason::admission);
  EXPECT_EQ(reason_word(FailureReason::image_pull), "image_pull");
  EXPECT_EQ(reason_word(FailureReason::not_ready), "not_ready");
}

TEST(BringUpFailure, IsNotReadIntoOtherErrors) {
  EXPECT_EQ(failure_reason({Errc::io_error, "x", "exited"}), std::nullopt);
  EXPECT_EQ(failure_reason({Errc::sandbox_failed, "x", "other"}), std::nullopt);
}

TEST(Phase, HasAWord) {
  EXPECT_EQ(phase_word(Phase::scheduling), "scheduling");
  EXPECT_EQ(phase_word(Phase::ready), "ready");
}

}  // namespace
}  // namespace skiff::container
