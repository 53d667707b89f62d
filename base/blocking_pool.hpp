#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/task.hpp"

namespace skiff {

/// A few threads for calls that may block (process creation, disk). One is there from the beginning, as there may be
/// none to have later: a command can take all processes that there may be. The others start when a job needs them. They
/// stay until the pool is destroyed, which runs every job that was posted and joins.
class BlockingPool {
 public:
  /// `threads` in 1..64. `name` shows in ps(1) and must be a literal of at most 15 characters. Throws std::system_error
  /// when the system has no thread to give (pthread_create(3)).
  BlockingPool(std::string_view name, std::size_t threads);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs `job` on a pool thread. Callable from any thread.
  void post(std::move_only_function<void()> job);

  /// Runs `work` on a pool thread and resumes the caller on its own executor with what it returned. Cancellation does
  /// not interrupt it: the caller waits until it is done, so `work` may refer to the caller's frame. What it throws
  /// (std::bad_alloc) is thrown at the caller.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    using R = std::invoke_result_t<Work&>;
    const Executor executor = co_await boost::asio::this_coro::executor;
    std::optional<R> result;
    std::exception_ptr failure;
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<Executor>, void()>(
        [&](auto handler) {
          // The guard keeps the reactor running while the only thing outstanding is on another thread.
          post([&result, &failure, &work, executor, handler = std::move(handler),
                guard = boost::asio::make_work_guard(executor)]() mutable {
            try {
              result.emplace(work());
            } catch (...) {
              failure = std::current_exception();
            }
            boost::asio::post(executor, std::move(handler));
            guard.reset();
          });
        },
        use_task);
    if (failure) std::rethrow_exception(failure);
    co_return std::move(*result);
  }

 private:
  void serve();

  const std::string_view name_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::move_only_function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace skiff
