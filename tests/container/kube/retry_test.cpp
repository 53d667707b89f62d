#include "container/kube/retry.hpp"

#include <gtest/gtest.h>

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;

Failure answered(unsigned code, std::optional<std::chrono::milliseconds> retry_after = {}) {
  Failure failure;
  failure.status.code = code;
  failure.status.retry_after = retry_after;
  return failure;
}

Failure cut(Errc code, bool may_have_happened) {
  return {.error = {code, "cut"}, .may_have_happened = may_have_happened};
}

bool tries_again(const Failure& failure, bool repeatable) {
  net::Backoff backoff{{}};
  return wait_before_retry(backoff, failure, repeatable).has_value();
}

TEST(Retry, SendsAgainWhatWasRefusedBeforeItBegan) {
  for (const bool repeatable : {false, true}) {
    EXPECT_TRUE(tries_again(answered(429, 1s), repeatable));
    EXPECT_TRUE(tries_again(cut(Errc::io_error, false), repeatable));
    EXPECT_TRUE(tries_again(cut(Errc::timeout, false), repeatable));
    EXPECT_FALSE(tries_again(answered(429), repeatable)) << "a disruption budget";
  }
}

TEST(Retry, SendsAgainWhatMayHaveHappenedOnlyIfThatDoesNoHarm) {
  for (const Failure& failure : {answered(502), answered(503), answered(504), answered(500, 1s),
                                 cut(Errc::io_error, true), cut(Errc::timeout, true)}) {
    EXPECT_TRUE(tries_again(failure, true)) << failure.status.code;
    EXPECT_FALSE(tries_again(failure, false)) << failure.status.code;
  }
}

TEST(Retry, GivesUpAtOnceOnWhatWaitingDoesNotMend) {
  for (const unsigned code : {400u, 401u, 403u, 404u, 409u, 410u, 413u, 422u, 500u}) {
    EXPECT_FALSE(tries_again(answered(code), true)) << code;
  }
  EXPECT_FALSE(tries_again(cut(Errc::unauthenticated, false), true)) << "a certificate";
  EXPECT_FALSE(tries_again(cut(Errc::not_found, false), true)) << "a name";
  EXPECT_FALSE(tries_again(cut(Errc::invalid_request, true), true)) << "nonsense";
}

TEST(Retry, WaitsOutAnElectionOfTheControlPlane) {
  for (const char* message : {"etcdserver: leader changed", "etcdserver: request timed out",
                              "etcdserver: request timed out, possibly due to previous leader failure",
                              "rpc error: code = Unavailable desc = transport is closing"}) {
    Failure election = answered(500);
    election.status.message = message;
    EXPECT_TRUE(tries_again(election, true)) << message;
    EXPECT_FALSE(tries_again(election, false)) << message;
  }
  Failure full = answered(500);
  full.status.message = "etcdserver: mvcc: database space exceeded";
  EXPECT_FALSE(tries_again(full, true));
}

TEST(Retry, WaitsAtLeastAsLongAsTheServerAsks) {
  net::Backoff backoff{{}};
  EXPECT_GE(wait_before_retry(backoff, answered(429, 3s), true).value(), 3s);
}

TEST(Retry, GoesOnWhileACallerWaits) {
  const SteadyTime until = std::chrono::steady_clock::now() + 1h;
  net::Backoff backoff{{.all = 0ms}};
  EXPECT_FALSE(wait_before_retry(backoff, answered(503), true).has_value());
  EXPECT_TRUE(wait_before_retry(backoff, answered(503), true, until).has_value());
  EXPECT_TRUE(wait_before_retry(backoff, answered(429, 60s), true, until).has_value());
  EXPECT_FALSE(wait_before_retry(backoff, answered(403), true, until).has_value());
}

}  // namespace
}  // namespace skiff::kube
