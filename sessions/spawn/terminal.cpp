#include "sessions/spawn/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace skiff::sessions {

Result<Terminal> open_terminal(TerminalSize size) {
  Terminal terminal;
  terminal.master.reset(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!terminal.master) return std::unexpected{system_error(errno, "open \"/dev/ptmx\"")};
  const int unlocked = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &unlocked) != 0) {
    return std::unexpected{system_error(errno, "unlock the terminal")};
  }
  // Open the slave by ioctl, not by name: /dev/pts may be another instance, or not mounted.
  terminal.slave.reset(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave) return std::unexpected{system_error(errno, "open the terminal's other side")};
  termios settings{};
  if (::tcgetattr(terminal.slave.get(), &settings) != 0) {
    return std::unexpected{system_error(errno, "read the terminal's settings")};
  }
  settings.c_iflag |= IUTF8;
  if (::tcsetattr(terminal.slave.get(), TCSANOW, &settings) != 0) {
    return std::unexpected{system_error(errno, "change the terminal's settings")};
  }
  constexpr TerminalSize kUsual{.cols = 80, .rows = 24};
  if (size.cols == 0) size.cols = kUsual.cols;
  if (size.rows == 0) size.rows = kUsual.rows;
  SKIFF_TRY_VOID(resize_terminal(terminal.master.get(), size));
  return terminal;
}

Result<> resize_terminal(int master, TerminalSize size) {
  winsize window{};
  if (::ioctl(master, TIOCGWINSZ, &window) != 0)
    return std::unexpected{system_error(errno, "read the terminal's size")};
  if (size.cols != 0) window.ws_col = size.cols;
  if (size.rows != 0) window.ws_row = size.rows;
  if (::ioctl(master, TIOCSWINSZ, &window) != 0) return std::unexpected{system_error(errno, "resize the terminal")};
  return {};
}

bool has_foreground(int master) {
  const pid_t group = ::tcgetpgrp(master);
  return group > 0 && (::kill(-group, 0) == 0 || errno == EPERM);
}

bool type_signal(int master, int signal) {
  termios settings{};
  if (::tcgetattr(master, &settings) != 0 || (settings.c_lflag & ISIG) == 0) return false;
  const int slot = signal == SIGINT ? VINTR : signal == SIGQUIT ? VQUIT : signal == SIGTSTP ? VSUSP : -1;
  if (slot < 0) return false;
  const char typed = static_cast<char>(settings.c_cc[slot]);
  return ::write(master, &typed, 1) == 1;
}

}  // namespace skiff::sessions
