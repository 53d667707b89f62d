#include "protocol/websocket/socket.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/deadline.hpp"
#include "protocol/websocket/state.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kScratch = 64 * 1024;

/// The read buffer of all connections. One is enough, because no wait separates a read from its parsing; an idle
/// connection has none.
std::span<char> scratch() {
  static thread_local const auto bytes = std::make_unique_for_overwrite<char[]>(kScratch);
  return {bytes.get(), kScratch};
}

/// Bounds the times, so that adding one to a clock cannot overflow.
WebSocket::Options bounded(WebSocket::Options options) {
  constexpr milliseconds longest = std::chrono::hours{24 * 365};
  options.write_deadline = std::min(options.write_deadline, longest);
  options.ping_interval = std::min(options.ping_interval, longest);
  options.close_timeout = std::min(options.close_timeout, longest);
  return options;
}

}  // namespace

WebSocket::State::State(Stream stream_in, std::string received, Options options_in)
    : options{bounded(std::move(options_in))},
      stream{std::move(stream_in)},
      buffered{std::move(received)},
      parser{options.side, options.max_message_bytes,
             options.reads_pieces ? MessageParser::Bytes::in_pieces : MessageParser::Bytes::whole},
      held{options.budget, {.who = &options.who, .patience = options.patience}, [this] { stream.cancel(); }},
      changed{stream.executor()},
      heard{steady_clock::now()} {}

// --- the end ---

void WebSocket::State::finish_with(Closed how, Error error) {
  if (!closed) closed = std::move(how);
  if (!final) final = std::move(error);
  changed.notify_all();
}

std::unexpected<Error> WebSocket::State::failed(Errc code, std::string why) {
  Closed how{close_code::kAbnormal, why, false};
  finish_with(std::move(how), {code, std::move(why)});
  stream.close();
  return over();
}

std::unexpected<Error> WebSocket::State::over() const {
  return std::unexpected{final ? *final : Error{Errc::cancelled, "the WebSocket is closing"}};
}

void WebSocket::State::abort() noexcept {
  finish_with({close_code::kAbnormal, "", false}, {Errc::cancelled, "the WebSocket was dropped on this side"});
  ended = true;
  stream.close();
  changed.notify_all();
}

// --- reading ---

std::optional<milliseconds> WebSocket::State::patience() {
  if (!control_out.empty()) control_soon();
  const SteadyTime now = steady_clock::now();
  if (end_by != SteadyTime::max()) {
    if (now >= end_by) return {};
    return until(end_by);
  }
  if (options.ping_interval <= milliseconds{0}) return kForever;
  if (pinged && heard > *pinged) pinged.reset();
  if (pinged && !options.may_be_silent && now - *pinged >= 2 * options.ping_interval) {
    (void)failed(Errc::timeout, "the peer did not respond to pings");
    return {};
  }
  SteadyTime wake = pinged ? next_ping : heard + options.ping_interval;
  if (now >= wake) {
    if (!pinged) pinged = now;
    wake = next_ping = now + options.ping_interval;
    ping_due = true;
    control_soon();
  }
  return until(wake);
}

bool WebSocket::State::goes_on(const Error& error) const noexcept {
  // The limit of this read is reached, or another coroutine has begun to close and woke it.
  return error.code == Errc::timeout || (error.code == Errc::cancelled && stream.is_open());
}

bool WebSocket::State::next_event(MessageParser::Event& event) {
  if (held.is_lost() && !hold(event)) return true;
  while (turn_left > 0) {
    if (buffered_at < buffered.size()) {
      buffered_at += parser.feed(std::string_view{buffered}.substr(buffered_at), event);
      if (buffered_at == buffered.size()) {
        std::string{}.swap(buffered);  // assigning an empty string would keep the memory
        buffered_at = 0;
      }
      if (event.kind != MessageParser::Kind::need_more) {
        turn_left -= kEventCost;
        return true;
      }
    }
    const std::span<char> direct = parser.direct();
    const std::span<char> into = direct.empty() ? scratch() : direct;
    const auto got = stream.try_read(into);
    if (!got) return false;
    if (!*got || **got == 0) {
      Error error = *got ? Error{Errc::io_error, "the connection ended without a close frame"} : got->error();
      finish_with({close_code::kAbnormal, error.message, true}, error);
      ended = true;
      return false;
    }
    heard = steady_clock::now();
    turn_left -= static_cast<std::ptrdiff_t>(**got);
    if (!direct.empty()) {
      parser.commit(**got, event);
    } else {
      const std::string_view bytes{into.data(), **got};
      const std::size_t used = parser.feed(bytes, event);
      buffered.assign(bytes.substr(used));
    }
    if (event.kind != MessageParser::Kind::need_more || !hold(event)) {
      turn_left -= kEventCost;
      return true;
    }
  }
  return false;
}

bool WebSocket::State::hold(MessageParser::Event& event) {
  if (held.hold(parser.held())) return true;
  parser.give_up();
  event = {MessageParser::Kind::violation, close_code::kTryAgainLater, std::string{kNoReceiveRoom}};
  return false;
}

std::optional<WebSocket::Message> WebSocket::State::next_message() {
  MessageParser::Event event;
  while (next_event(event)) {
    switch (event.kind) {
      case MessageParser::Kind::text:
      case MessageParser::Kind::binary:
        (void)held.hold(0);
        if (closed) continue;  // the connection is closing
        return Message{event.kind == MessageParser::Kind::text ? Kind::text : Kind::binary, std::move(event.payload)};
      case MessageParser::Kind::ping:
        // Only the latest ping needs a pong (RFC 6455 section 5.5.3), so pings cannot pile up.
        pong_due = std::move(event.payload);
        control_soon();
        continue;
      case MessageParser::Kind::pong:
      case MessageParser::Kind::need_more:
        continue;
      case MessageParser::Kind::close:
      case MessageParser::Kind::violation:
        last_event = std::make_unique<MessageParser::Event>(std::move(event));
        return {};
    }
  }
  return {};
}

/// Reads and drops bytes until the peer ends its direction: closing with unread bytes would reset the connection, and
/// the close frame could get lost.
Task<> WebSocket::State::drain(SteadyTime deadline) {
  while (stream.is_open()) {
    if (steady_clock::now() >= deadline) break;
    if (const auto got = stream.try_read(scratch())) {
      if (!*got || **got == 0) break;
      co_await asio::post(stream.executor(), use_task);
      continue;
    }
    if (const auto waited = co_await stream.readable(until(deadline)); !waited) break;
  }
}

Task<> WebSocket::State::conclude(MessageParser::Event event) {
  // The limit also bounds the wait for the turn.
  Deadline limit{stream.executor(), [this] { stream.close(); }};
  limit.expires_after(2 * options.close_timeout);
  if (event.kind == MessageParser::Kind::close) {
    finish_with({event.code, event.payload, true},
                {Errc::cancelled, "the peer closed with " + std::to_string(event.code)});
    co_await send_close(event.code, {}, true);
    // The server ends the TCP connection first (RFC 6455 section 7.1.1), so the client has no TIME_WAIT.
    if (options.side == Side::client) co_await drain(steady_clock::now() + options.close_timeout);
  } else {
    const Errc code = event.code == close_code::kTooBig          ? Errc::payload_too_large
                      : event.code == close_code::kTryAgainLater ? Errc::resource_exhausted
                                                                 : Errc::invalid_request;
    finish_with({event.code, event.payload, false}, {code, "WebSocket: " + event.payload});
    co_await send_close(event.code, event.payload, true);
    stream.shutdown_write();
    co_await drain(steady_clock::now() + options.close_timeout);
  }
}

Task<Result<WebSocket::Message>> WebSocket::State::read() {
  while (reading) co_await changed.wait();  // close() reads too
  struct Reading {
    explicit Reading(State& state_in) : state{state_in} { state.reading = true; }
    ~Reading() {
      state.reading = false;
      state.changed.notify_all();
    }
    State& state;
  } const reading_now{*this};

  while (!ended) {
    if (auto message = next_message()) co_return std::move(*message);
    if (last_event) {
      co_await conclude(std::move(*last_event));
      break;
    }
    if (ended) break;
    if (turn_left <= 0) {
      turn_left = kTurn;
      co_await asio::post(stream.executor(), use_task);
      continue;
    }
    const auto limit = patience();
    if (!limit) break;
    const auto waited = co_await stream.readable(*limit);
    turn_left = kTurn;
    if (waited || goes_on(waited.error())) continue;
    finish_with({close_code::kAbnormal, waited.error().message, true}, waited.error());
    break;
  }
  ended = true;
  stream.close();
  co_return over();
}

// --- the public face ---

WebSocket::WebSocket(Stream stream, std::string received, Options options)
    : state_{std::make_unique<State>(std::move(stream), std::move(received), std::move(options))} {}

WebSocket::~WebSocket() = default;

Task<Result<WebSocket::Message>> WebSocket::read() {
  return state_->read();
}

Task<Result<>> WebSocket::send(Kind kind, std::span<const std::string_view> parts) {
  return state_->send_message(kind == Kind::text ? Opcode::text : Opcode::binary, parts);
}

Task<Result<>> WebSocket::send(Kind kind, std::string payload) {
  const std::string_view view{payload};
  co_return co_await state_->send_message(kind == Kind::text ? Opcode::text : Opcode::binary, {&view, 1});
}

Task<Result<>> WebSocket::ping(std::string payload) {
  if (payload.size() > 125) co_return fail(Errc::invalid_request, "a ping holds at most 125 bytes");
  const std::string_view view{payload};
  co_return co_await state_->send_message(Opcode::ping, {&view, 1});
}

Task<> WebSocket::close(std::uint16_t code, std::string reason) {
  State& state = *state_;
  if (state.ended) co_return;
  Deadline limit{state.stream.executor(), [&state] { state.abort(); }};
  limit.expires_after(state.options.write_deadline + 2 * state.options.close_timeout);
  if (!state.closed) {
    co_await state.send_close(code, reason, false);
    state.finish_with({code, reason, false}, {Errc::cancelled, "closed on this side with " + std::to_string(code)});
  }
  if (state.end_by == SteadyTime::max()) state.end_by = steady_clock::now() + state.options.close_timeout;
  if (state.reading) state.stream.cancel();  // the reader must wait again with the new limit
  while (!state.ended) {
    if (state.reading) {
      co_await state.changed.wait();
    } else {
      (void)co_await state.read();
    }
  }
}

void WebSocket::abort() noexcept {
  state_->abort();
}

const std::optional<WebSocket::Closed>& WebSocket::closed() const noexcept {
  return state_->closed;
}

}  // namespace skiff::protocol
