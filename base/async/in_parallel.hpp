#pragma once

#include <cstddef>
#include <functional>

#include "base/async/task.hpp"

namespace skiff {

/// Runs `work` for 0 to `count` - 1, at most `at_once` at a time, and ends when all have ended. Cancellation of the
/// caller cancels them. The tasks of `work` must not throw anything but their cancellation.
[[nodiscard]] Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work);

}  // namespace skiff
