#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/kernel_features.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

/// A thread of its own for looks at processes: what they cost depends on how many there are, and no file that hangs may
/// hold up the end of a command. Why the reaper may go on meanwhile is said at `Leader` and `signal_tree`. Where the
/// kernel has no pidfds that does not hold, so looks are made in the reactor. There they are made again, too, when no
/// descriptor was left for them: only there nobody takes those that were kept back (`LastDescriptors`).
class ProcessLooks {
 public:
  /// `name` is the thread's, as of a `BlockingPool`. Throws std::system_error as that does.
  explicit ProcessLooks(std::string_view name) : thread_{name, 1} {}

  /// What `look` returns; one after the other. It may be called twice. Reactor thread only; cancellation does not
  /// interrupt it, so `look` may refer to the caller's frame.
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

  /// For other calls on files of the kernel, between the looks.
  [[nodiscard]] BlockingPool& thread() noexcept { return thread_; }

 private:
  BlockingPool thread_;
};

}  // namespace skiff::sessions
