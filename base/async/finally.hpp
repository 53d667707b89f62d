#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/task_group.hpp"

namespace skiff {

/// Cancels the tasks of a group and joins them.
inline Task<> end_tasks(TaskGroup* group) {
  group->cancel();
  co_await group->join();
}

/// Runs `work` and then, however it ends, `cleanup`. Cancellation of the caller neither skips nor interrupts `cleanup`.
/// Returns the result of `work`, or throws what `cleanup` threw, else what `work` threw. Both are callables that return
/// a Task; they may refer to the caller's frame.
///
/// A caller that is cancelled already gets operation_aborted, and neither runs: so start what `cleanup` ends inside
/// `work`. Cancellation during the clean-up is not lost: it ends the caller's next wait.
template <class Work, class Cleanup>
std::invoke_result_t<Work&> finally(Work work, Cleanup cleanup) {
  using T = typename std::invoke_result_t<Work&>::value_type;
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> result;
  std::exception_ptr failure;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await work();
    } else {
      result.emplace(co_await work());
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  // The clean-up is a task of its own, so that a signal to the caller does not reach it.
  TaskGroup alone{co_await boost::asio::this_coro::executor};
  alone.spawn("clean-up", [](Cleanup* run, std::exception_ptr* into) -> Task<> {
    try {
      co_await (*run)();
    } catch (...) {
      *into = std::current_exception();
    }
  }(&cleanup, &failure));
  while (!alone.empty()) {
    try {
      co_await alone.join();
    } catch (const boost::system::system_error&) {
      // The caller was cancelled: only the wait has ended, not the clean-up.
    }
  }
  co_await boost::asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<T>) co_return std::move(*result);
}

}  // namespace skiff
