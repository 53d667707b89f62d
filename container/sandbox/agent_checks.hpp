#pragma once

#include <string>

#include "base/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Asks the agents of running sandboxes, 20 at most, for their version, which has to be ours. `owner` empty:
/// everybody's.
[[nodiscard]] Task<Check> examine_agents(Driver* driver, std::string owner);

}  // namespace skiff::container
