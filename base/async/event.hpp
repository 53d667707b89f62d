#pragma once

#include <cstddef>
#include <list>

#include <boost/asio/any_completion_handler.hpp>

#include "base/async/task.hpp"

namespace skiff {

/// Wakes the coroutines that wait right now. It keeps no state, so check the condition before and after: `while
/// (!ready()) co_await event.wait();`. Reactor thread only. Its destructor ends all waits with operation_aborted.
class Event {
 public:
  explicit Event(Executor executor) : executor_{executor} {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Ends at the next `notify_all()`; throws system_error(operation_aborted) when cancelled.
  [[nodiscard]] Task<> wait();

  /// Wakes all waiters. Their code runs later, from the reactor, never inside this call.
  void notify_all();
  /// Wakes the waiter that has waited longest, if any.
  void notify_one();

  [[nodiscard]] bool awaited() const noexcept { return !waiters_.empty(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiters_.size(); }

 private:
  using Handler = boost::asio::any_completion_handler<void(boost::system::error_code)>;
  void complete(Handler handler, boost::system::error_code error);

  Executor executor_;
  std::list<Handler> waiters_;
};

}  // namespace skiff
