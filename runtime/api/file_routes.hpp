#pragma once

#include <span>

#include "runtime/api/route.hpp"

namespace skiff::runtime::api {

/// The rows of the route table for files.
[[nodiscard]] std::span<const Route> file_routes();

}  // namespace skiff::runtime::api
