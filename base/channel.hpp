#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/blocking_pool.hpp"
#include "base/event.hpp"
#include "base/task.hpp"

namespace skiff {

/// Blocks of bytes on their way from a thread that may block to a coroutine. Bounded: the thread waits while the
/// coroutine is behind. Whoever leaves first tells the other: `finish()` on the thread, `leave()` in the coroutine.
class ToReactor {
 public:
  /// With `most` bytes or more on their way the thread waits until half of that is taken. It waits aside, if it works
  /// for a job of `pool`.
  ToReactor(Executor executor, std::size_t most, BlockingPool* pool = nullptr)
      : state_{std::make_shared<State>(executor, most, pool)} {}

  // --- the thread ---
  /// False when nobody takes them any more.
  bool push(std::string block);
  void finish();

  // --- the coroutine ---
  /// The next block, nothing when the thread has finished and all were taken.
  [[nodiscard]] Task<std::optional<std::string>> pop() { return pop(state_); }
  void leave();

 private:
  struct State {
    State(Executor on, std::size_t bytes, BlockingPool* of) : executor{on}, most{bytes}, pool{of}, arrived{on} {}
    Executor executor;
    const std::size_t most;
    BlockingPool* const pool;
    std::mutex mutex;
    std::condition_variable room;
    std::deque<std::string> blocks;
    std::size_t bytes = 0;
    bool finished = false;
    bool left = false;
    Event arrived;  ///< reactor thread
  };
  void wait_for_room();
  static Task<std::optional<std::string>> pop(std::shared_ptr<State> state);
  static void wake(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

/// The other way: from a coroutine to a thread that may block.
class ToThread {
 public:
  /// The coroutine waits while `most` bytes or more are on their way. The thread waits aside, if it works for a job of
  /// `pool`.
  ToThread(Executor executor, std::size_t most, BlockingPool* pool = nullptr)
      : state_{std::make_shared<State>(executor, most, pool)} {}

  // --- the coroutine ---
  /// False when nobody takes them any more.
  [[nodiscard]] Task<bool> push(std::string block) { return push(state_, std::move(block)); }
  /// `whole`: everything was handed over; otherwise the thread learns that the rest will not come.
  void finish(bool whole);

  // --- the thread ---
  /// The next bytes, 0 at the end; nothing when the rest will not come. Waits for them.
  [[nodiscard]] std::optional<std::size_t> read(std::span<char> into);
  void leave();

 private:
  struct State {
    State(Executor on, std::size_t bytes, BlockingPool* of) : executor{on}, most{bytes}, pool{of}, taken{on} {}
    Executor executor;
    const std::size_t most;
    BlockingPool* const pool;
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::string> blocks;
    std::size_t begun = 0;  ///< of the first block, read already
    std::size_t bytes = 0;
    bool finished = false;
    bool whole = false;
    bool left = false;
    Event taken;  ///< reactor thread
  };
  void wait_for_more();
  static Task<bool> push(std::shared_ptr<State> state, std::string block);
  static void wake(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace skiff
