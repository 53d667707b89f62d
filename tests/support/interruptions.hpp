#pragma once

#include <signal.h>  // NOLINT: sigaction and timers are POSIX's own
#include <time.h>    // NOLINT
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace skiff::test {

/// Interrupts its thread, while it lives, again and again by a signal whose handler does nothing, so that a call that
/// waits in a system call there sees EINTR. Not by setitimer(2): the harness has that one.
class Interruptions {
 public:
  explicit Interruptions(std::chrono::nanoseconds every = std::chrono::microseconds{150}) {
    struct sigaction nothing{};
    nothing.sa_handler = [](int) { count_ = count_ + 1; };
    ::sigaction(SIGUSR2, &nothing, &before_);  // without SA_RESTART
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR2;
    event._sigev_un._tid = ::gettid();
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) std::abort();
    itimerspec times{};
    times.it_interval.tv_nsec = times.it_value.tv_nsec = every.count();
    ::timer_settime(timer_, 0, &times, nullptr);
  }
  ~Interruptions() {
    ::timer_delete(timer_);
    ::sigaction(SIGUSR2, &before_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

  /// How many there were so far, in this program.
  [[nodiscard]] static int count() { return count_; }

 private:
  static inline volatile sig_atomic_t count_ = 0;
  struct sigaction before_{};
  timer_t timer_{};
};

}  // namespace skiff::test
