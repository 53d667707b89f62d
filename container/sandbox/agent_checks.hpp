#pragma once

#include <string>

#include "base/async/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Checks that the agents of running sandboxes, at most 20, have our version. An empty `owner` means the sandboxes of
/// all owners.
[[nodiscard]] Task<Check> examine_agents(Driver* driver, std::string owner);

}  // namespace skiff::container
