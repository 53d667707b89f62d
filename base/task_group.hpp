#pragma once

#include <cstddef>
#include <list>
#include <string_view>

#include <boost/asio/cancellation_signal.hpp>

#include "base/event.hpp"
#include "base/task.hpp"

namespace skiff {

/// Owns coroutines: what is spawned here is cancelled and joined here, so nothing runs detached. Reactor thread only.
/// The group must outlive its tasks: call `join()` (after `cancel()`) before it is destroyed; destruction with live
/// tasks aborts. A task that ends with an exception other than a cancellation is a bug: it is logged with its name and
/// the group goes on.
class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts `task` now (its first part runs inside this call). `what` names it in the log and must be a literal.
  void spawn(std::string_view what, Task<> task);

  /// Asks all tasks to stop: their current `co_await` ends with operation_aborted.
  void cancel();

  /// Ends when no task is left. A caller that is cancelled before or meanwhile gets operation_aborted, and tasks may be
  /// left then: who must not leave them turns its own cancellation off first.
  Task<> join();

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }

 private:
  Executor executor_;
  std::list<boost::asio::cancellation_signal> tasks_;
  Event emptied_;
};

}  // namespace skiff
