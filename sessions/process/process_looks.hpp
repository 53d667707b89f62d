#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/kernel_features.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

/// A thread for scans of processes. Their cost depends on the number of processes, and no file that hangs may hold up
/// the end of a command. The comments at `Leader` and `signal_tree` say why the reaper may run meanwhile. That needs
/// pidfds: without them the scans run in the reactor. A scan that found no free descriptor is also repeated in the
/// reactor, which has descriptors in reserve (`LastDescriptors`).
class ProcessLooks {
 public:
  /// `name` is the thread's name. Throws std::system_error, as `BlockingPool` does.
  explicit ProcessLooks(std::string_view name) : thread_{name, 1} {}

  /// Runs `look`, one call after another, and returns its result. `look` may be called twice. Reactor thread only.
  /// Cancellation does not interrupt it, so `look` may refer to the caller's frame.
  template <class Look>
  Task<std::invoke_result_t<Look&>> run(Look look) {
    if (kernel_features().pidfd) {
      auto there = [&look] {
        (void)lacked_descriptors();
        auto found = look();
        return std::pair{std::move(found), lacked_descriptors()};
      };
      auto [found, lacked] = co_await thread_.run(std::move(there));
      if (!lacked) co_return std::move(found);
    }
    co_return look();
  }

  /// The thread, for other calls on files of the kernel.
  [[nodiscard]] BlockingPool& thread() noexcept { return thread_; }

 private:
  BlockingPool thread_;
};

}  // namespace skiff::sessions
