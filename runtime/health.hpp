#pragma once

#include "runtime/settings.hpp"

namespace skiff::runtime {

/// `skiffd health`: asks the agent that listens on the first `--listen` address for /healthz. For images without curl.
/// Returns the exit status: 0 alive, 1 not, with the reason on stderr.
[[nodiscard]] int check_health(const Settings& settings);

}  // namespace skiff::runtime
