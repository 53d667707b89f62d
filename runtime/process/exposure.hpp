#pragma once

#include <string>
#include <vector>

#include "protocol/net/address.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// Warnings for the log about settings that expose a secret: a secret's file that every user can read or that lies
/// below the root, and an address other than loopback without TLS.
[[nodiscard]] std::vector<std::string> exposures(const Settings& settings,
                                                 const std::vector<protocol::Address>& addresses);

}  // namespace skiff::runtime
