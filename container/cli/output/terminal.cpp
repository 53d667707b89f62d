#include "container/cli/output/terminal.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace skiff::container {
namespace {

// Global, because a signal handler needs them.
termios g_before{};
std::atomic<bool> g_is_raw = false;

void restore_and_die(int signal) {
  restore_terminal();
  // The handler was reset when it was called (SA_RESETHAND), so this raises the default action.
  ::raise(signal);
}

void restore_on_crash() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action{};
    action.sa_handler = &restore_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

std::optional<TerminalSize> terminal_size() {
  for (const int fd : {STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0) continue;
    // A terminal whose size was never set reports zero.
    if (size.ws_col == 0 || size.ws_row == 0) return TerminalSize{};
    return TerminalSize{.columns = size.ws_col, .rows = size.ws_row};
  }
  return std::nullopt;
}

std::size_t text_width() {
  const auto size = terminal_size();
  return size ? static_cast<std::size_t>(size->columns) : 100;
}

bool shows_progress() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool prints_to_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool shows_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return prints_to_terminal() && (no_colour == nullptr || no_colour[0] == 0) && kind != nullptr &&
         std::strcmp(kind, "dumb") != 0;
}

Result<RawTerminal> RawTerminal::enter() {
  if (::tcgetattr(STDIN_FILENO, &g_before) != 0)
    return std::unexpected{system_error(errno, "read the terminal's modes")};
  restore_on_crash();
  termios raw = g_before;
  ::cfmakeraw(&raw);
  g_is_raw = true;
  if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) {
    const int error = errno;
    g_is_raw = false;
    return std::unexpected{system_error(error, "change the terminal's modes")};
  }
  return RawTerminal{};
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept : owns_{std::exchange(other.owns_, false)} {}

RawTerminal::~RawTerminal() {
  if (owns_) restore_terminal();
}

void restore_terminal() noexcept {
  const int before = errno;
  if (g_is_raw.exchange(false)) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_before);
  errno = before;
}

}  // namespace skiff::container
