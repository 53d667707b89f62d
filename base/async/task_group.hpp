#pragma once

#include <cstddef>
#include <list>
#include <string_view>

#include <boost/asio/cancellation_signal.hpp>

#include "base/async/event.hpp"
#include "base/async/task.hpp"

namespace skiff {

/// Owns coroutines: each task that is spawned here is also cancelled and joined here, so nothing runs detached. Reactor
/// thread only. The group must outlive its tasks: call `join()` (after `cancel()`) before it is destroyed; the
/// destructor aborts if tasks are left. A task that ends with an exception other than a cancellation is a bug: the
/// group logs it with the task's name and goes on.
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

  /// Ends when no task is left. A caller that is cancelled before or during the wait gets operation_aborted, and tasks
  /// may be left. A caller that must not leave them turns its own cancellation off first.
  Task<> join();

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }

 private:
  Executor executor_;
  std::list<boost::asio::cancellation_signal> tasks_;
  Event emptied_;
};

}  // namespace skiff
