#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {

/// 0: this side is as usual (80 and 24), or, of a terminal that is there, stays as it is.
struct TerminalSize {
  std::uint16_t cols = 0;
  std::uint16_t rows = 0;
};

/// A pseudo-terminal (pty(7)). Both sides are close-on-exec; the master is non-blocking. A fresh one echoes and is in
/// canonical mode with UTF-8 input (IUTF8).
struct Terminal {
  UniqueFd master;
  UniqueFd slave;
};
[[nodiscard]] Result<Terminal> open_terminal(TerminalSize size);

/// TIOCSWINSZ on the master: the foreground group gets SIGWINCH.
[[nodiscard]] Result<> resize_terminal(int master, TerminalSize size);

/// Whether a group is in the foreground: behind the end of the session's leader what is typed signals nobody.
[[nodiscard]] bool has_foreground(int master);

/// Types the character that the terminal makes `signal` of, as a person would. False where it makes it of none.
[[nodiscard]] bool type_signal(int master, int signal);

}  // namespace skiff::sessions
