#pragma once

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cli/context.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// Prints what the driver would make, as YAML documents or, with -o json, as a List. Gives the exit status.
/// `to_be_applied` as in driver.hpp.
[[nodiscard]] Task<Result<int>> print_manifest(Context* context, SandboxSpec spec, bool to_be_applied);

/// The same without asking a cluster for anything; stderr says what could not be found out. Only for the driver `pod`.
[[nodiscard]] Result<int> print_offline_manifest(const Context& context, SandboxSpec spec);

}  // namespace skiff::container
