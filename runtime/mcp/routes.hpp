#pragma once

#include <span>

#include "runtime/api/route.hpp"

namespace skiff::runtime::mcp {

/// The rows of /mcp in the route table.
[[nodiscard]] std::span<const api::Route> routes();

}  // namespace skiff::runtime::mcp
