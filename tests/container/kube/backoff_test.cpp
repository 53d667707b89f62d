#include "container/kube/backoff.hpp"

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
  Backoff backoff{{}};
  return backoff.next(failure, repeatable).has_value();
}

TEST(Backoff, SendsAgainWhatWasRefusedBeforeItBegan) {
  for (const bool repeatable : {false, true}) {
    EXPECT_TRUE(tries_again(answered(429, 1s), repeatable));
    EXPECT_TRUE(tries_again(cut(Errc::io_error, false), repeatable));
    EXPECT_TRUE(tries_again(cut(Errc::timeout, false), repeatable));
    EXPECT_FALSE(tries_again(answered(429), repeatable)) << "a disruption budget";
  }
}

TEST(Backoff, SendsAgainWhatMayHaveHappenedOnlyIfThatDoesNoHarm) {
  for (const Failure& failure : {answered(502), answered(503), answered(504), answered(500, 1s),
                                 cut(Errc::io_error, true), cut(Errc::timeout, true)}) {
    EXPECT_TRUE(tries_again(failure, true)) << failure.status.code;
    EXPECT_FALSE(tries_again(failure, false)) << failure.status.code;
  }
}

TEST(Backoff, GivesUpAtOnceOnWhatWaitingDoesNotMend) {
  for (const unsigned code : {400u, 401u, 403u, 404u, 409u, 410u, 413u, 422u, 500u}) {
    EXPECT_FALSE(tries_again(answered(code), true)) << code;
  }
  EXPECT_FALSE(tries_again(cut(Errc::unauthenticated, false), true)) << "a certificate";
  EXPECT_FALSE(tries_again(cut(Errc::not_found, false), true)) << "a name";
  EXPECT_FALSE(tries_again(cut(Errc::invalid_request, true), true)) << "nonsense";
}

TEST(Backoff, WaitsOutAnElectionOfTheControlPlane) {
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

TEST(Backoff, IsEndedByTheTimeAndNotByTheTries) {
  Backoff backoff{{}};
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(backoff.next(answered(503), true).has_value()) << i;
}

TEST(Backoff, GoesOnWhileSomebodyWaits) {
  const SteadyTime until = std::chrono::steady_clock::now() + 1h;
  Backoff backoff{{.all = 0ms}};
  EXPECT_FALSE(backoff.next(answered(503), true).has_value());
  EXPECT_TRUE(backoff.next(answered(503), true, until).has_value());
  EXPECT_TRUE(backoff.next(answered(429, 60s), true, until).has_value());
  EXPECT_FALSE(backoff.next(answered(403), true, until).has_value());
}

TEST(Backoff, GrowsWithHalfOfItRandom) {
  Backoff backoff{{.first = 100ms, .most = 400ms, .all = 30s, .attempts = 100}};
  for (const auto& [least, most] : {std::pair{50ms, 100ms}, {100ms, 200ms}, {200ms, 400ms}, {200ms, 400ms}}) {
    const auto wait = backoff.next(answered(503), true);
    ASSERT_TRUE(wait.has_value());
    EXPECT_GE(*wait, least);
    EXPECT_LE(*wait, most);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(answered(503), true).value(), 100ms);
}

TEST(Backoff, WaitsAtLeastAsLongAsTheServerAsks) {
  Backoff backoff{{}};
  EXPECT_GE(backoff.next(answered(429, 3s), true).value(), 3s);
  Backoff short_of_time{{.all = 2s}};
  EXPECT_FALSE(short_of_time.next(answered(429, 3s), true).has_value());
}

TEST(Backoff, EndsAfterItsAttempts) {
  Backoff backoff{{.attempts = 3}};
  EXPECT_TRUE(backoff.next(answered(503), true).has_value());
  EXPECT_TRUE(backoff.next(answered(503), true).has_value());
  EXPECT_FALSE(backoff.next(answered(503), true).has_value());
}

}  // namespace
}  // namespace skiff::kube
