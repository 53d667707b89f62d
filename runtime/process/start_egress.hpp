#pragma once

#include "base/error.hpp"
#include "runtime/agent.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// Checks --egress before the agent serves.
[[nodiscard]] Result<> check_egress(const Settings& settings);

/// Writes what commands have to trust, if anything, before the agent serves.
[[nodiscard]] Result<> start_trust(const Settings& settings);

/// Listens where commands find their proxy and their name server. Without `--egress` it does nothing. From its success
/// on there are tasks, which only the end of a run ends.
[[nodiscard]] Result<> start_egress(Agent& agent);

}  // namespace skiff::runtime
