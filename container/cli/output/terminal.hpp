#pragma once

#include <cstddef>
#include <optional>

#include "base/error.hpp"

namespace skiff::container {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

/// The size of the first of stdout, stdin, stderr that is a terminal.
[[nodiscard]] std::optional<TerminalSize> terminal_size();

/// The width for wrapping text; 100 if there is no terminal.
[[nodiscard]] std::size_t text_width();

/// True if stderr is a terminal on which progress may be drawn.
[[nodiscard]] bool shows_progress();
/// True if stdout is a terminal.
[[nodiscard]] bool prints_to_terminal();
/// True if stdout may be coloured: it is a terminal, NO_COLOR is not set (https://no-color.org), and TERM is not dumb.
[[nodiscard]] bool shows_colour();

/// While it lives, the terminal passes on each key as it is typed, without echo. However the program ends, the
/// terminal's modes are restored: by this object, by `restore_terminal`, or by a handler of the signals of a crash.
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

/// Restores the modes that `RawTerminal` has changed, if any. Async-signal-safe.
void restore_terminal() noexcept;

}  // namespace skiff::container
