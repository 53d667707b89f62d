#include "base/in_parallel.hpp"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "base/finally.hpp"
#include "base/task_group.hpp"

namespace skiff {
namespace {

Task<> one_after_the_other(std::size_t* next, std::size_t count, const std::function<Task<>(std::size_t)>* work) {
  while (*next < count) {
    const std::size_t index = (*next)++;
    co_await (*work)(index);
  }
}

}  // namespace

Task<> in_parallel(std::size_t count, std::size_t at_once, std::function<Task<>(std::size_t)> work) {
  std::size_t next = 0;
  TaskGroup group{co_await boost::asio::this_coro::executor};
  auto run = [&](this auto) -> Task<> {
    for (std::size_t i = 0; i < std::min(count, at_once); ++i) {
      group.spawn("in parallel", one_after_the_other(&next, count, &work));
    }
    co_await group.join();
  };
  // The tasks refer to this frame, so they are joined even if the caller is cancelled.
  co_await finally(std::move(run), [&] { return end_tasks(&group); });
}

Task<Turnstile::Place> Turnstile::enter() {
  // Callers that wait already go first.
  if (free_ == 0 || !waiting_.empty()) {
    const auto turn = waiting_.emplace(waiting_.end(), executor_);
    // This also runs when the wait is cancelled, so that the next caller does not miss its turn.
    const struct Leave {
      Turnstile* of;
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
  co_return Place{this};
}

void Turnstile::wake_next() noexcept {
  if (free_ > 0 && !waiting_.empty()) waiting_.front().notify_all();
}

Turnstile::Place::~Place() {
  if (!of_) return;
  ++of_->free_;
  of_->wake_next();
}

}  // namespace skiff
