#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/async/event.hpp"

namespace skiff::sessions {

/// Who moves bytes next, when many have many to move: one at a time, in the order they asked, and whatever else is
/// ready comes in between: the other kind of mover, a health check, a new request. So a thousand readers of a command
/// do not hold it up, and nobody waits for a whole round of them. Reactor thread only.
class Turns {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 10U;
  static constexpr std::size_t kLeast = std::size_t{32} << 10U;

  explicit Turns(Executor executor) : executor_{executor}, next_{executor} {}

  /// Ends when it is the caller's turn, which lasts until it suspends; at once when nobody else had one just now.
  [[nodiscard]] Task<> next();
  /// The same without waiting. False: it is not the caller's turn.
  [[nodiscard]] bool take();

  [[nodiscard]] Executor executor() const noexcept { return executor_; }

  /// What may be moved in a turn: large blocks while few wait, small ones while many do.
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
