#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace skiff::sessions {

/// Counts the commands that are starting or running, or whose pipes are still open, and says whether one more may
/// start. Reactor thread only.
class LiveCommands {
 public:
  explicit LiveCommands(std::size_t most) noexcept : most_{most} {}

  std::function<void()> changed;           ///< called when the count became 0 or is no longer 0; may be empty
  std::function<Result<>()> before_start;  ///< its error refuses a command; may be empty

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] bool are_full() const noexcept { return count_ >= most_; }
  /// Errors: too_many_commands, and those of `before_start`.
  [[nodiscard]] Result<> admit() const {
    if (are_full()) {
      return fail(Errc::too_many_commands,
                  std::to_string(count_) + " commands are running, which is the limit (--max-commands)");
    }
    return before_start ? before_start() : Result<>{};
  }

  void begin() {
    if (count_++ == 0 && changed) changed();
  }
  void end() {
    if (--count_ == 0 && changed) changed();
  }

 private:
  std::size_t most_;
  std::size_t count_ = 0;
};

}  // namespace skiff::sessions
