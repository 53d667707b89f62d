#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {

/// Size of a terminal. 0 means the default (80 columns, 24 rows) for a new terminal, and no change for an existing one.
struct TerminalSize {
  std::uint16_t cols = 0;
  std::uint16_t rows = 0;
};

/// A pseudo-terminal (pty(7)). Both sides are close-on-exec; the master is non-blocking. A new terminal echoes and is
/// in canonical mode with UTF-8 input (IUTF8).
struct Terminal {
  UniqueFd master;
  UniqueFd slave;
};
[[nodiscard]] Result<Terminal> open_terminal(TerminalSize size);

/// Sets the size by TIOCSWINSZ on the master; the foreground group gets SIGWINCH.
[[nodiscard]] Result<> resize_terminal(int master, TerminalSize size);

/// Whether the terminal has a foreground group. After the end of the session's leader typed characters signal no
/// process.
[[nodiscard]] bool has_foreground(int master);

/// Types the character for which the terminal sends `signal`; false if it has none.
[[nodiscard]] bool type_signal(int master, int signal);

}  // namespace skiff::sessions
