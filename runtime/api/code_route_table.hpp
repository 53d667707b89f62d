#pragma once

#include <span>

#include "runtime/api/route.hpp"

namespace skiff::runtime::api {

/// The rows of the route table for code that runs.
[[nodiscard]] std::span<const Route> code_route_table();

}  // namespace skiff::runtime::api
