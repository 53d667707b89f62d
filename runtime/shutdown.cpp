#include "runtime/shutdown.hpp"

#include <utility>

#include "base/async/deliberate_wait.hpp"
#include "base/log/log.hpp"

namespace skiff::runtime {

bool Shutdown::ask(EndCause cause, std::string_view why) {
  if (std::exchange(is_asked_, true)) return false;
  cause_ = cause;
  why_ = why;
  log::warning("stopping: commands are ended", {{"cause", word_of(cause)}, {"why", why}, {"live", live_.count()}});
  asked_.notify_all();
  return true;
}

void Shutdown::fail(std::string_view why) {
  if (std::exchange(failed_, true)) return;
  ask(EndCause::failure, why);
  // Also while it ends for another reason, which it may not do in good order any more.
  cause_ = EndCause::failure;
  why_ = why;
  // What follows may end it before the log's thread has had its turn.
  const DeliberateWait wait;
  log::flush();
}

Task<> Shutdown::asked() {
  while (!is_asked_) co_await asked_.wait();
}

void Shutdown::begin_drain() {
  draining_ = true;
  drain_begun_.notify_all();
}

Task<> Shutdown::drain_begun() {
  while (!draining_) co_await drain_begun_.wait();
}

}  // namespace skiff::runtime
