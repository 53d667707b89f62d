#include "base/async/semaphore.hpp"

namespace skiff {

Task<Semaphore::Permit> Semaphore::acquire() {
  // Callers that wait already go first.
  if (free_ == 0 || !waiting_.empty()) {
    const auto turn = waiting_.emplace(waiting_.end(), executor_);
    // This also runs when the wait is cancelled, so that the next caller does not miss its turn.
    const struct Leave {
      Semaphore* of;
      std::list<Event>::iterator turn;
      ~Leave() {
        of->waiting_.erase(turn);
        of->wake_next();
      }
    } leave{this, turn};
    while (free_ == 0 || turn != waiting_.begin()) co_await turn->wait();
    --free_;
  } else {
    --free_;
  }
  co_return Permit{this};
}

void Semaphore::wake_next() noexcept {
  if (free_ > 0 && !waiting_.empty()) waiting_.front().notify_all();
}

Semaphore::Permit::~Permit() {
  if (!of_) return;
  ++of_->free_;
  of_->wake_next();
}

}  // namespace skiff
