#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/async/event.hpp"

namespace skiff::sessions {

/// Turns for coroutines that move many bytes. One has its turn at a time, in the order of the calls, and all other
/// ready work (the other kind of mover, a health check, a new request) runs between two turns. So a thousand readers of
/// a command do not hold it up, and no other work waits for a whole round of readers. Reactor thread only.
class Turns {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 10U;
  static constexpr std::size_t kLeast = std::size_t{32} << 10U;

  explicit Turns(Executor executor) : executor_{executor}, next_{executor} {}

  /// Ends when it is the caller's turn, which lasts until the caller suspends. Ends at once if no turn is being taken.
  [[nodiscard]] Task<> next();
  /// Takes a turn without waiting; false if it is not the caller's turn.
  [[nodiscard]] bool take();

  [[nodiscard]] Executor executor() const noexcept { return executor_; }

  /// Bytes that may be moved in a turn: `kMost` while few callers wait, down to `kLeast` while many do.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return std::clamp(2 * kMost / std::max<std::size_t>(next_.waiting(), 1), kLeast, kMost);
  }

 private:
  void pass_on();

  Executor executor_;
  Event next_;
  bool taken_ = false;  ///< `pass_on` is under way
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace skiff::sessions
