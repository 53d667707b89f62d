#pragma once

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

/// Follows a sandbox until it is not being brought up any more, and gives how it is then; or why that has failed. At
/// `until` it gives how it is at that time. Another process may be at it: then its record is looked at again and again,
/// and there are no steps. `left` runs beside it: when it gives true nobody wants to know any more, and the end is
/// `cancelled`. What it is given must outlive it.
[[nodiscard]] Task<Result<Sandbox>> follow(Fleet* fleet, const BringUps* bring_ups, BringUps::Which which,
                                           SteadyTime until, Task<bool> left, Tell tell);

}  // namespace skiff::container::serve
