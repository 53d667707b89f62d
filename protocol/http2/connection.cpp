#include "protocol/http2/connection.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/beside.hpp"
#include "base/log/log.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::size_t kSendBytes = std::size_t{64} << 10U;
/// How long to read from a client that is still sending after the server has ended: closing at once with unread bytes
/// would reset the connection, and the client could lose the last frames.
constexpr milliseconds kHttp2LingerTime{2'000};

}  // namespace

Http2Connection::Http2Connection(Stream stream, const Http2ServerOptions& options, ConnectionSlots::Slot& slot)
    : stream_{std::move(stream)},
      options_{options},
      slot_{slot},
      session_{stream_.executor(), options.session},
      held_{options.received, {.who = &slot.who(), .patience = options.limits.body_idle_time}, [this] { calm_down(); }},
      handlers_{stream_.executor()},
      wanted_{stream_.executor()},
      clock_{stream_.executor(), [this] { time_is_over(); }} {}

Task<ServerConnection::Successor> Http2Connection::run() {
  enter(Phase::greeting, options_.limits.header_time);
  std::exception_ptr failure;
  try {
    co_await run_beside(send(this), receive(this));
  } catch (...) {
    failure = std::current_exception();
  }
  // The handlers see the end, finish their work, and are joined, even if this task is cancelled.
  clock_.clear();
  stream_.close();
  session_.abandon();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  if (failure) handlers_.cancel();
  while (!handlers_.empty()) {
    try {
      co_await handlers_.join();
    } catch (const boost::system::system_error&) {
      handlers_.cancel();
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  co_return Successor{};
}

Task<> Http2Connection::receive(Http2Connection* self) {
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const auto got = co_await self->stream_.read_some(buffer);
    if (!got || *got == 0) co_return;
    if (!self->session_.reads()) continue;  // discarded, until the client has got the reason
    self->session_.feed({buffer.data(), *got});
    self->begin_requests();
    self->hold();
    if (self->phase_ == Phase::asked) self->phase_ = Phase::active;
    self->look_around();
    self->wake();
  }
}

Task<> Http2Connection::send(Http2Connection* self) {
  std::string out;
  for (;;) {
    while (!std::exchange(self->is_wanted_, false)) co_await self->wanted_.wait();
    for (;;) {
      out.clear();
      self->session_.produce(out, kSendBytes);
      if (out.empty()) break;
      const std::array<std::string_view, 1> parts{out};
      if (auto sent = co_await self->stream_.write(parts, self->options_.limits.write_stall_time); !sent) {
        self->stream_.close();
        co_return;
      }
    }
    self->look_around();
    if (!self->session_.finished()) continue;
    self->enter(Phase::lingering, kHttp2LingerTime);
    self->stream_.shutdown_write();
    co_return;
  }
}

void Http2Connection::hold() {
  if (!held_.hold(session_.held())) calm_down();
}

void Http2Connection::calm_down() {
  session_.calm_down();
  wake();
}

void Http2Connection::begin_requests() {
  for (auto& stream : session_.take_requests()) {
    // A handler may outlive its stream while it cleans up.
    if (handlers_.size() >= 2 * options_.session.streams) {
      session_.reset(*stream, Http2Code::refused_stream);
      continue;
    }
    handlers_.spawn("stream", serve(this, std::move(stream)));
  }
}

Task<> Http2Connection::serve(Http2Connection* self, std::shared_ptr<Http2Stream> stream) {
  Http2Exchange exchange{*self, std::move(stream)};
  co_await self->options_.handler(exchange);
}

void Http2Connection::look_around() {
  const auto& limits = options_.limits;
  if (phase_ == Phase::lingering || !session_.greeted()) return;
  slot_.now(session_.streams() > 0 ? ConnectionSlots::Slot::Use::works : ConnectionSlots::Slot::Use::waits);
  if (session_.streams() > 0) {
    if (phase_ != Phase::asked) enter(Phase::active, options_.ping_interval);
  } else if (phase_ != Phase::idle) {
    enter(Phase::idle, slot_.is_authenticated() ? limits.keep_alive_time
                                                : std::min(limits.keep_alive_time, limits.stranger_idle_time));
  }
}

void Http2Connection::time_is_over() {
  switch (phase_) {
    case Phase::active:
      session_.ping();
      enter(Phase::asked, options_.limits.write_stall_time);
      wake();
      break;
    case Phase::idle:
      drain();
      break;
    case Phase::asked:
      log::info("a client does not respond to a ping", {{"peer", stream_.peer()}});
      stream_.close();
      break;
    case Phase::greeting:
    case Phase::lingering:
      stream_.close();
      break;
  }
}

void Http2Connection::enter(Phase phase, milliseconds limit) {
  phase_ = phase;
  clock_.expires_after(limit);
}

void Http2Connection::drain() noexcept {
  session_.go_away();
  wake();
}

void Http2Connection::wake() {
  is_wanted_ = true;
  wanted_.notify_all();
}

}  // namespace skiff::protocol
