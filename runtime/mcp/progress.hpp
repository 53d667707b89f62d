#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// Sends a notification each second to a client that gave a progress token: how much of `total` has passed, and
/// `message`. It runs beside a wait until it is cancelled. Without a token it ends at once.
[[nodiscard]] Task<> tell_progress(std::shared_ptr<Request> request, std::chrono::milliseconds total,
                                   std::function<std::string()> message);

}  // namespace skiff::runtime::mcp
