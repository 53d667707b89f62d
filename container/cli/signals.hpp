#pragma once

#include <functional>
#include <string_view>

#include <boost/asio/signal_set.hpp>

#include "base/async/task.hpp"

namespace skiff::container {

/// Handles signals to skiff. The first signal interrupts: it asks skiff to stop and to clean up. The second one ends
/// skiff at once. While a command is attached, signals go to the command instead. Reactor thread only.
class Signals {
 public:
  /// `interrupt` asks the work to stop.
  Signals(Executor executor, std::function<void()> interrupt);

  /// Passes signals to `relay` until it is set to empty again.
  void relay_to(std::function<void(int signal)> relay) { relay_ = std::move(relay); }

  /// Acts as if `signal` had come while no command was attached.
  void interrupt(int signal);

  /// The signal that interrupted, or 0.
  [[nodiscard]] int interrupted_by() const noexcept { return interrupted_by_; }

  /// Call it when the work is done: signals come too late from here on, also one that came with the last answer. skiff
  /// ends with the status of its work.
  void settle() {
    interrupted_by_ = 0;
    stop();
  }

  /// Lets the reactor end. A signal that came before and was not handled yet has no effect.
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

/// The name of a signal in the agent's API ("INT" for SIGINT); null for one without a name.
[[nodiscard]] const char* signal_word(int signal) noexcept;
/// The number of a signal that the agent names ("SIGTERM", "SIG34"); 0 if there is none.
[[nodiscard]] int signal_number(std::string_view word) noexcept;

}  // namespace skiff::container
