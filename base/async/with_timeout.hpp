#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/task_group.hpp"
#include "base/async/timer.hpp"
#include "base/clock.hpp"

namespace skiff {

/// Runs `body` until it ends or the time is over; then `body` is cancelled and joined, and the result is nothing.
/// `body` must not throw anything but its own cancellation.
template <class T>
Task<std::optional<T>> within(SteadyTime until, Task<T> body) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  Timer timer{executor};
  timer.expires_at(until);
  std::optional<T> result;
  TaskGroup group{executor};
  group.spawn("body", [](Task<T> work, std::optional<T>* into, Timer* waiting) -> Task<> {
    into->emplace(co_await std::move(work));
    waiting->cancel();
  }(std::move(body), &result, &timer));
  bool cancelled = false;
  try {
    if (!result) {
      auto [error] = co_await timer.async_wait(boost::asio::as_tuple(use_task));
      cancelled = error && !result;
    }
    group.cancel();
    if (!cancelled) co_await group.join();
  } catch (const boost::system::system_error&) {
    cancelled = true;
  }
  if (cancelled) {
    // The body refers to this frame, so it is joined even if the caller is cancelled.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    group.cancel();
    co_await group.join();
    throw boost::system::system_error{boost::asio::error::operation_aborted};
  }
  co_return result;
}

}  // namespace skiff
