#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"

namespace skiff {

/// The message that a client gets when the time of its token is over.
inline constexpr std::string_view kExpired = "the token has expired";

struct ExpiryClock {
  std::function<WallTime()> wall = wall_now;
  std::chrono::milliseconds looked_at_each{60'000};
};

/// Calls back when the time of a token is over. The wall clock decides. It may be set meanwhile, so it is read again
/// and again. Reactor thread only.
class Expiry {
 public:
  /// Without an `end` it never calls. `reached` must not destroy this Expiry or its owner.
  Expiry(Executor executor, std::optional<WallTime> end, std::function<void()> reached, ExpiryClock clock = {});

 private:
  void wait();

  std::optional<WallTime> end_;
  std::function<void()> reached_;
  ExpiryClock clock_;
  Deadline deadline_;
};

}  // namespace skiff
