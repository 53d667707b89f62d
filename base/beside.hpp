#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/task_group.hpp"

namespace skiff {

/// Runs `body` and, as long as that takes, `companion` beside it; then cancels and joins the companion. So the
/// companion may refer to what the caller's frame holds. What `body` returns or throws is what the caller gets.
template <class T>
Task<T> run_beside(Task<> companion, Task<T> body) {
  TaskGroup group{co_await boost::asio::this_coro::executor};
  group.spawn("companion", std::move(companion));
  std::exception_ptr failure;
  std::conditional_t<std::is_void_v<T>, std::optional<char>, std::optional<T>> result;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(body);
    } else {
      result.emplace(co_await std::move(body));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // The caller may have been cancelled; the companion is joined all the same.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  group.cancel();
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
  // It goes on, and may be cancelled in what follows.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
  if constexpr (!std::is_void_v<T>) co_return std::move(*result);
}

}  // namespace skiff
