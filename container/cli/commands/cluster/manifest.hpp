#pragma once

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// Prints the objects that the driver would create, as YAML documents or, with -o json, as a List. Returns the exit
/// status. `to_be_applied` as in driver.hpp.
[[nodiscard]] Task<Result<int>> print_manifest(Context* context, SandboxSpec spec, bool to_be_applied);

/// Prints them without contacting a cluster; stderr says what remains unknown. Only for the driver `pod`.
[[nodiscard]] Result<int> print_offline_manifest(const Context& context, SandboxSpec spec);

}  // namespace skiff::container
