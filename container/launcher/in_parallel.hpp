#pragma once

#include <cstddef>
#include <functional>

#include "base/task.hpp"

namespace skiff::container {

/// Runs `work` for 0 to `count` - 1, at most `at_once` of them at a time, and ends when all have ended: when the caller
/// is cancelled, so are they. What `work` returns must not throw but by its cancellation.
[[nodiscard]] Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work);

}  // namespace skiff::container
