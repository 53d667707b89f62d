#pragma once

#include "runtime/settings.hpp"

namespace skiff::runtime {

/// `skiffd health`: requests /healthz from the agent on the first `--listen` address, for images without curl. Returns
/// the exit status: 0 if the agent is alive, else 1, with the reason on stderr.
[[nodiscard]] int check_health(const Settings& settings);

}  // namespace skiff::runtime
