#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/serve/bring_ups.hpp"
#include "container/serve/fleet.hpp"

namespace skiff::container::serve {

/// Is given the steps of a bring-up that are new, and now and then none. Its error ends the following.
using Tell = std::function<Task<Result<>>(std::span<const BringUps::Step>)>;

/// Those who wait for sandboxes, or look on while they are brought up. Reactor thread only; it must outlive them.
class Followers {
 public:
  /// What it is given must outlive it.
  Followers(Fleet* fleet, const BringUps* bring_ups) : fleet_{fleet}, bring_ups_{bring_ups} {}
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  /// Follows a sandbox until it is not being brought up any more, and gives how it is then; or why that has failed. At
  /// `until` it gives how it is at that time. Another process may be at it: then its record is looked at again and
  /// again, and there are no steps. `left` runs beside it: when it gives true nobody wants to know any more, and the
  /// end is `cancelled`.
  [[nodiscard]] Task<Result<Sandbox>> follow(BringUps::Which which, SteadyTime until, Task<bool> left, Tell tell);

 private:
  class Follower;

  Fleet* fleet_;
  const BringUps* bring_ups_;
  std::size_t looking_ = 0;  ///< how many of them look at records
};

}  // namespace skiff::container::serve
