#include "base/async/deadline.hpp"

#include <memory>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"

namespace skiff {

Deadline::Deadline(Executor executor, std::function<void()> expired)
    : on_expired_{std::move(expired)}, timer_{executor} {}

Deadline::~Deadline() {
  *alive_ = false;
  timer_.cancel();
}

void Deadline::expires_after(std::chrono::milliseconds time) {
  expires_at(std::chrono::steady_clock::now() + time);
}

void Deadline::expires_at(SteadyTime time) {
  at_ = time;
  fired_ = false;
  if (at_ < armed_for_) arm();
}

void Deadline::arm() {
  armed_for_ = at_;
  timer_.expires_at(at_);
  timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    armed_for_ = SteadyTime::max();
    if (at_ == SteadyTime::max()) return;
    if (at_ > std::chrono::steady_clock::now()) {
      arm();
      return;
    }
    at_ = SteadyTime::max();
    fired_ = true;
    on_expired_();
  });
}

Task<> pause(std::chrono::milliseconds time) {
  Timer timer{co_await boost::asio::this_coro::executor, time};
  co_await timer.async_wait(use_task);
}

}  // namespace skiff
