#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// Tells the client each second how much of `total` has passed, with `message`, if it gave a progress token. To run
/// beside what it waits for: it ends when it is cancelled, or at once.
[[nodiscard]] Task<> tell_progress(std::shared_ptr<Request> request, std::chrono::milliseconds total,
                                   std::function<std::string()> message);

}  // namespace skiff::runtime::mcp
