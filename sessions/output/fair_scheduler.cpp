#include "sessions/output/fair_scheduler.hpp"

#include <boost/asio/post.hpp>

namespace skiff::sessions {

Task<> Turns::next() {
  if (!take()) co_await next_.wait();
}

bool Turns::take() {
  if (taken_) return false;
  pass_on();
  return true;
}

/// Wakes the next caller once everything that is ready now has run.
void Turns::pass_on() {
  taken_ = true;
  boost::asio::post(executor_, [this, alive = std::weak_ptr{alive_}] {
    if (alive.expired()) return;
    taken_ = next_.waiting() > 0;
    if (!taken_) return;
    next_.notify_one();
    pass_on();
  });
}

}  // namespace skiff::sessions
