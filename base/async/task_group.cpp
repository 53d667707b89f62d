#include "base/async/task_group.hpp"

#include <cstdlib>
#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/system/system_error.hpp>

#include "base/log/log.hpp"

namespace skiff {
namespace asio = boost::asio;

TaskGroup::TaskGroup(Executor executor) : executor_{executor}, emptied_{executor} {}

TaskGroup::~TaskGroup() {
  if (!tasks_.empty()) {
    log::error("a task group was destroyed with live tasks");
    log::flush();
    std::abort();
  }
}

void TaskGroup::spawn(std::string_view what, Task<> task) {
  const auto self = tasks_.emplace(tasks_.end());
  auto ended = [this, self, what](const std::exception_ptr& failure) {
    tasks_.erase(self);
    if (tasks_.empty()) emptied_.notify_all();
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
      if (error.code() != asio::error::operation_aborted) {
        log::error("task failed", {{"task", what}, {"error", error.what()}});
      }
    } catch (const std::exception& error) {
      log::error("task failed", {{"task", what}, {"error", error.what()}});
    }
  };
  asio::co_spawn(executor_, std::move(task), asio::bind_cancellation_slot(self->slot(), std::move(ended)));
}

void TaskGroup::cancel() {
  // A task may end inside its own emit and leave the list. No other task ends here, because the handlers are posted.
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    auto& signal = *it++;
    signal.emit(asio::cancellation_type::terminal);
  }
}

Task<> TaskGroup::join() {
  while (!tasks_.empty()) co_await emptied_.wait();
}

}  // namespace skiff
