#pragma once

#include <functional>
#include <string_view>

#include <boost/asio/signal_set.hpp>

#include "base/task.hpp"

namespace skiff::container {

/// What signals to skiff do. At first they interrupt: the first one asks skiff to stop, which cleans up what was begun,
/// the second one ends it at once. While a command is attached they are the command's instead. Reactor thread only.
class Signals {
 public:
  /// `interrupt` asks the work to stop.
  Signals(Executor executor, std::function<void()> interrupt);

  /// Sends them to `relay` until that is empty again.
  void relay_to(std::function<void(int signal)> relay) { relay_ = std::move(relay); }

  /// As if `signal` had come while nothing was attached.
  void interrupt(int signal);

  /// The signal that interrupted, or 0.
  [[nodiscard]] int interrupted_by() const noexcept { return interrupted_by_; }

  /// What was asked for is done: a signal comes too late from here on, as does one that came with the last answer and
  /// found nothing left to end. skiff ends with the status of what it has done.
  void settle() {
    interrupted_by_ = 0;
    stop();
  }

  /// Lets the reactor end. A signal that came before and was not looked at yet does nothing any more.
  void stop() {
    stopped_ = true;
    set_.cancel();
  }

 private:
  void wait();
  void handle(int signal);

  boost::asio::basic_signal_set<Executor> set_;
  std::function<void()> interrupt_;
  std::function<void(int)> relay_;
  int interrupted_by_ = 0;
  bool stopped_ = false;
};

/// "INT" for SIGINT, as the agent's API wants it; null for one without a name.
[[nodiscard]] const char* signal_word(int signal) noexcept;
/// The number of "SIGTERM" or "SIG34", as the agent tells them; 0 if there is none.
[[nodiscard]] int signal_number(std::string_view word) noexcept;

}  // namespace skiff::container
