#pragma once

#include <span>

#include "runtime/auth/credentials.hpp"
#include "runtime/dialects/dialect.hpp"
#include "runtime/process/self_defence.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// Serves, also those of `dialects` that the settings ask for, until a signal ends it (SIGTERM or SIGINT; as PID 1 a
/// SIGTERM counts only from outside the container). Returns the process' exit status: 0 at the end of
/// a lease, 128 + N after signal N, or the workload's where there is one and its end or a signal ended the agent, 2 for
/// settings that can't be, 1 when it could not start for another reason; the reason is on stderr.
[[nodiscard]] int serve(Settings settings, const InheritedLimits& inherited,
                        std::span<const dialects::Dialect> dialects);

}  // namespace skiff::runtime
