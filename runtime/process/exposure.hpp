#pragma once

#include <string>
#include <vector>

#include "protocol/net/address.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// What of these settings lets others at a secret: a sentence each, for the log. A secret's file that everybody can
/// read or that lies below the root, and an address that the network reaches without TLS.
[[nodiscard]] std::vector<std::string> exposures(const Settings& settings,
                                                 const std::vector<protocol::Address>& addresses);

}  // namespace skiff::runtime
