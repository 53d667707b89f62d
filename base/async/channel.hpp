#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/async/event.hpp"
#include "base/async/task.hpp"

namespace skiff {

/// Blocks of bytes on their way from a thread that may block to a coroutine. The queue is bounded: the thread waits
/// while the coroutine is behind. The side that ends first tells the other: the thread by `finish()`, the coroutine by
/// `leave()`.
class ToReactor {
 public:
  /// When `most` bytes or more are queued, the thread waits until half of `most` is left. It stands aside meanwhile if
  /// it works for a job of `pool`.
  ToReactor(Executor executor, std::size_t most, BlockingPool* pool = nullptr)
      : state_{std::make_shared<State>(executor, most, pool)} {}

  // --- the thread ---
  /// Returns false when the coroutine has left.
  bool push(std::string block);
  void finish();

  // --- the coroutine ---
  /// Returns the next block, or nothing when the thread has finished and all blocks were taken.
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

/// The other direction: from a coroutine to a thread that may block.
class ToThread {
 public:
  /// The coroutine waits while `most` bytes or more are queued. The thread stands aside while it waits, if it works for
  /// a job of `pool`.
  ToThread(Executor executor, std::size_t most, BlockingPool* pool = nullptr)
      : state_{std::make_shared<State>(executor, most, pool)} {}

  // --- the coroutine ---
  /// Returns false when the thread has left.
  [[nodiscard]] Task<bool> push(std::string block) { return push(state_, std::move(block)); }
  /// `whole`: everything was handed over. Otherwise the thread learns that the rest will not come.
  void finish(bool whole);

  // --- the thread ---
  /// Waits for bytes. Returns their number, 0 at the end, or nothing when the rest will not come.
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
    std::size_t begun = 0;  ///< bytes of the first block that were read already
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
