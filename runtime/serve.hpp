#pragma once

#include <span>

#include "runtime/auth/credentials.hpp"
#include "runtime/dialects/dialect.hpp"
#include "runtime/process/self_defence.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// Serves the agent's API and the dialects that the settings name, until the agent stops. Returns the process's exit
/// status: 0 at the end of the lease or the idle time, 128 + N after signal N, 2 for invalid settings, 1 if it could
/// not start for another reason or failed. With a workload, its status replaces 128 + N, and is returned at its end.
/// Errors are on stderr.
[[nodiscard]] int serve(Settings settings, const InheritedLimits& inherited,
                        std::span<const dialects::Dialect> dialects);

}  // namespace skiff::runtime
