#include "container/cli/signals.hpp"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

#include "container/cli/output/terminal.hpp"

namespace skiff::container {

Signals::Signals(Executor executor, std::function<void()> interrupt)
    : set_{executor}, interrupt_{std::move(interrupt)} {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) set_.add(signal);
  // Writes report a broken pipe, so the signal is not needed.
  std::signal(SIGPIPE, SIG_IGN);
  wait();
}

void Signals::wait() {
  set_.async_wait([this](boost::system::error_code error, int signal) {
    if (error || stopped_) return;
    handle(signal);
    wait();
  });
}

void Signals::handle(int signal) {
  // A copy: the relay may be reset while it runs.
  if (const auto relay = relay_) return relay(signal);
  if (signal == SIGWINCH || signal == SIGUSR1 || signal == SIGUSR2) return;
  interrupt(signal);
}

void Signals::interrupt(int signal) {
  relay_ = nullptr;
  if (interrupted_by_ != 0) {
    restore_terminal();
    ::_exit(128 + signal);
  }
  interrupted_by_ = signal;
  interrupt_();
}

const char* signal_word(int signal) noexcept {
  return ::sigabbrev_np(signal);
}

int signal_number(std::string_view word) noexcept {
  if (!word.starts_with("SIG")) return 0;
  word.remove_prefix(3);
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size()) return number;
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* known = signal_word(signal);
    if (known != nullptr && word == known) return signal;
  }
  return 0;
}

}  // namespace skiff::container
