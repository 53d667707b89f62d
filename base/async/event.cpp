#include "base/async/event.hpp"

#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace skiff {
namespace asio = boost::asio;

Event::~Event() {
  for (Handler& waiter : std::exchange(waiters_, {})) {
    asio::get_associated_cancellation_slot(waiter).clear();
    complete(std::move(waiter), asio::error::operation_aborted);
  }
}

void Event::complete(Handler handler, boost::system::error_code error) {
  asio::post(executor_, [handler = std::move(handler), error]() mutable { std::move(handler)(error); });
}

void Event::notify_all() {
  for (Handler& waiter : std::exchange(waiters_, {})) {
    asio::get_associated_cancellation_slot(waiter).clear();
    complete(std::move(waiter), {});
  }
}

void Event::notify_one() {
  if (waiters_.empty()) return;
  Handler waiter = std::move(waiters_.front());
  waiters_.pop_front();
  asio::get_associated_cancellation_slot(waiter).clear();
  complete(std::move(waiter), {});
}

Task<> Event::wait() {
  co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void(boost::system::error_code)>(
      [this](auto handler) {
        const auto self = waiters_.emplace(waiters_.end(), std::move(handler));
        // Use the slot of the erased handler: Boost 1.81 gives that handler a cancellation state of its own in the raw
        // handler's slot.
        auto slot = asio::get_associated_cancellation_slot(*self);
        if (slot.is_connected()) {
          // A second cancellation may come before the first has ended the wait.
          slot.assign([this, self, cancelled = false](asio::cancellation_type) mutable {
            if (std::exchange(cancelled, true)) return;
            Handler waiter = std::move(*self);
            waiters_.erase(self);
            complete(std::move(waiter), asio::error::operation_aborted);
          });
        }
      },
      use_task);
}

}  // namespace skiff
