#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "runtime/egress/helper.hpp"

namespace skiff::runtime::egress {

/// Asks the egress proxy on which ports the sandbox may reach a host, as its rules are now. Empty: on none; the proxy
/// has logged that as a refusal. Errors: the proxy is away or refuses to say. `helper` must outlive it.
[[nodiscard]] Task<Result<std::vector<std::uint16_t>>> ask_ports(const Helper* helper, std::string host);

}  // namespace skiff::runtime::egress
