#include "runtime/shutdown.hpp"

#include <utility>

#include "base/async/deliberate_wait.hpp"
#include "base/log/log.hpp"

namespace skiff::runtime {

bool Shutdown::ask(EndCause cause, std::string_view why) {
  if (std::exchange(is_asked_, true)) return false;
  cause_ = cause;
  why_ = why;
  log::warning("stopping: ending all commands", {{"cause", word_of(cause)}, {"why", why}, {"live", live_.count()}});
  asked_.notify_all();
  return true;
}

void Shutdown::fail(std::string_view why) {
  if (std::exchange(failed_, true)) return;
  ask(EndCause::failure, why);
  // Set the cause also while the agent stops for another reason: it may be unable to finish that in order.
  cause_ = EndCause::failure;
  why_ = why;
  // Flush now: the process may end before the log's thread runs.
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
