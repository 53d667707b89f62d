#include "container/serve/reactor_delay.hpp"

#include <gtest/gtest.h>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

/// Number of measurements above 0.25 seconds.
std::uint64_t stalls(const ReactorDelay& reactor) {
  const auto counts = reactor.seconds()[0].counts();
  std::uint64_t above = counts.back();
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) above += Histogram::kBounds[i] > 0.25 ? counts[i] : 0;
  return above;
}

CO_TEST(ReactorDelay, AStallIsMeasured) {
  ReactorDelay reactor;
  TaskGroup group{executor};
  group.spawn("measure", reactor.measure());
  co_await pause(1ms);  // it begins
  const std::uint64_t before = stalls(reactor);
  const SteadyTime until = std::chrono::steady_clock::now() + ReactorDelay::kBetween + 300ms;
  while (std::chrono::steady_clock::now() < until) {
  }
  while (stalls(reactor) == before) co_await pause(1ms);
  EXPECT_GE(reactor.seconds()[0].sum(), 0.25);
  group.cancel();
  co_await group.join();
}

}  // namespace
}  // namespace skiff::container::serve
