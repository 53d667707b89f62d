#include "base/worker_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace skiff {
namespace {

/// Blocks all signals of this thread; a thread that it starts meanwhile inherits the mask.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_worker(std::move_only_function<void()> work) {
  const NoSignals meanwhile;
  return std::thread{std::move(work)};
}

}  // namespace skiff
