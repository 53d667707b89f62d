#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/fleet/bring_ups.hpp"
#include "container/serve/fleet/fleet.hpp"

namespace skiff::container::serve {

/// Called with the new steps of a bring-up, and from time to time with none. Its error ends the following.
using Tell = std::function<Task<Result<>>(std::span<const BringUps::Step>)>;

/// Lets callers wait for sandboxes, or follow their bring-up. Reactor thread only; it must outlive its calls.
class Followers {
 public:
  /// The arguments must outlive it.
  Followers(Fleet* fleet, const BringUps* bring_ups) : fleet_{fleet}, bring_ups_{bring_ups} {}
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  /// Follows a sandbox until its bring-up ends, and returns its state then, or why the bring-up failed. At `until` it
  /// returns the current state. If another process brings it up, the record is read repeatedly, and there are no steps.
  /// `left` runs at the same time: when it returns true, the caller has left, and the result is `cancelled`.
  [[nodiscard]] Task<Result<Sandbox>> follow(BringUps::Which which, SteadyTime until, Task<bool> left, Tell tell);

 private:
  class Follower;

  Fleet* fleet_;
  const BringUps* bring_ups_;
  std::size_t looking_ = 0;  ///< number of followers that read records
};

}  // namespace skiff::container::serve
