#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/task_group.hpp"

namespace skiff {

/// Runs `companion` concurrently with `body`. When `body` has finished, the companion is cancelled and joined, so the
/// companion may refer to the caller's frame. The caller gets what `body` returns or throws. A caller that is cancelled
/// while the companion is joined gets operation_aborted.
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
  // The companion is joined even if the caller has been cancelled or is cancelled here.
  const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  group.cancel();
  while (!group.empty()) {
    try {
      co_await group.join();
    } catch (const boost::system::system_error&) {
      // The caller was cancelled: only the wait has ended, not the companion.
    }
  }
  co_await boost::asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  if (throws && state.cancelled() != boost::asio::cancellation_type::none) {
    throw boost::system::system_error{boost::asio::error::operation_aborted};
  }
  if constexpr (!std::is_void_v<T>) co_return std::move(*result);
}

}  // namespace skiff
