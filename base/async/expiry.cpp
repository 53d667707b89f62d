#include "base/async/expiry.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace skiff {

using std::chrono::milliseconds;

Expiry::Expiry(Executor executor, std::optional<WallTime> end, std::function<void()> reached, ExpiryClock clock)
    : end_{end},
      reached_{std::move(reached)},
      clock_{std::move(clock)},
      deadline_{executor, [this] { clock_.wall() < *end_ ? wait() : reached_(); }} {
  if (end_) wait();
}

void Expiry::wait() {
  const auto left = std::chrono::ceil<milliseconds>(*end_ - clock_.wall());
  deadline_.expires_after(std::clamp(left, milliseconds{0}, clock_.looked_at_each));
}

}  // namespace skiff
