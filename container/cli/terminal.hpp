#pragma once

#include <cstddef>
#include <optional>

#include "base/error.hpp"

namespace skiff::container {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

/// Of the first of stdout, stdin, stderr that is a terminal.
[[nodiscard]] std::optional<TerminalSize> terminal_size();

/// For wrapping text: 100 when there is no terminal.
[[nodiscard]] std::size_t text_width();

/// Whether stderr is for eyes: progress may be drawn there.
[[nodiscard]] bool shows_progress();
/// Whether stdout may be coloured: a terminal, NO_COLOR not set (https://no-color.org), TERM not dumb.
[[nodiscard]] bool shows_colour();

/// Passes each key on as it is typed, without echo, as long as it lives. Whatever way the program ends, the terminal
/// gets its modes back: by this object, by `restore_terminal`, or by a handler of the signals that a crash raises.
class RawTerminal {
 public:
  /// stdin must be a terminal.
  [[nodiscard]] static Result<RawTerminal> enter();
  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  ~RawTerminal();

 private:
  RawTerminal() = default;
  bool owns_ = true;
};

/// Undoes what `RawTerminal` did, if it did. Async-signal-safe.
void restore_terminal() noexcept;

}  // namespace skiff::container
