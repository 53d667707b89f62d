#include "container/serve/reactor_delay.hpp"

#include <algorithm>

#include "base/async/deadline.hpp"
#include "base/clock.hpp"

namespace skiff::container::serve {

Task<> ReactorDelay::measure() {
  for (;;) {
    const SteadyTime due = std::chrono::steady_clock::now() + kBetween;
    co_await pause(kBetween);
    const std::chrono::duration<double> late = std::chrono::steady_clock::now() - due;
    seconds_[0].observe(std::max(late.count(), 0.0));
  }
}

}  // namespace skiff::container::serve
