#include "runtime/egress/fence.hpp"

#include <utility>

#include "base/async/timer.hpp"
#include "base/log/log.hpp"
#include "protocol/http/client.hpp"

namespace skiff::runtime::egress {

Fence::Fence(Executor executor, Options options)
    : executor_{executor}, options_{std::move(options)}, changed_{executor}, tasks_{executor} {}

void Fence::start() {
  tasks_.spawn("egress fence", watch(this));
}

std::string_view Fence::word() const noexcept {
  if (state_ == State::fenced) return "fenced";
  return state_ == State::waiting ? "waiting" : "lost";
}

Task<> Fence::until(State wanted) {
  while (state_ != wanted) co_await changed_.wait();
}

Task<> Fence::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<> Fence::watch(Fence* self) {
  Timer timer{self->executor_};
  for (;;) {
    co_await self->look();
    const auto now = std::chrono::steady_clock::now();
    // A proxy that is away is looked for often: it may come back.
    const bool is_usual = self->state_ != State::waiting && self->answered_ >= now - self->options_.connect;
    const auto soon = self->state_ == State::waiting ? self->options_.between : 10 * self->options_.between;
    timer.expires_after(is_usual ? self->options_.again : soon);
    co_await timer.async_wait(use_task);
  }
}

Task<Fence::Seen> Fence::look_at(protocol::Address address) {
  auto connected = co_await protocol::connect(std::move(address), options_.connect, executor_);
  if (connected) co_return Seen::answers;
  // Without a free descriptor nothing was tried.
  co_return connected.error().code == Errc::resource_exhausted ? Seen::unknown : Seen::is_closed;
}

Task<> Fence::look() {
  const Seen canary = co_await look_at(options_.canary);
  if (canary == Seen::unknown) co_return;
  const Seen proxy = co_await look_at(options_.proxy);
  const auto now = std::chrono::steady_clock::now();
  if (proxy == Seen::answers) answered_ = now;
  const State otherwise = state_ == State::waiting ? State::waiting : State::lost;
  if (canary == Seen::answers) {
    become(otherwise, "the canary " + options_.canary.text() +
                          " of the egress proxy answers: no NetworkPolicy closes this Pod's network");
  } else if (proxy == Seen::answers) {
    become(State::fenced, {});
  } else if (state_ == State::waiting || now - answered_ >= options_.patience) {
    become(otherwise, "the egress proxy " + options_.proxy.text() + " does not answer");
  }
}

void Fence::become(State state, std::string why) {
  const bool is_news = state != state_ || why != why_;
  state_ = state;
  why_ = std::move(why);
  if (!is_news) return;
  if (state == State::lost) {
    log::warning(why_, {{"egress", word()}});
  } else {
    log::info(why_.empty() ? "the network leads to the egress proxy alone" : why_, {{"egress", word()}});
  }
  changed_.notify_all();
}

}  // namespace skiff::runtime::egress
