#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/task.hpp"

namespace skiff {

/// What whoever has shown a token is told when its time is over.
inline constexpr std::string_view kExpired = "the token has expired";

struct ExpiryClock {
  std::function<WallTime()> wall = wall_now;
  std::chrono::milliseconds looked_at_each{60'000};
};

/// Calls back when a token's time is over. That is told by the wall clock, which may be set meanwhile: it is looked at
/// again and again. Reactor thread only.
class Expiry {
 public:
  /// Without an `end` it never calls. `reached` must not destroy this Expiry, nor what owns it.
  Expiry(Executor executor, std::optional<WallTime> end, std::function<void()> reached, ExpiryClock clock = {});

 private:
  void wait();

  std::optional<WallTime> end_;
  std::function<void()> reached_;
  ExpiryClock clock_;
  Deadline deadline_;
};

}  // namespace skiff
