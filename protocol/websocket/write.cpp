#include <algorithm>
#include <array>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/id.hpp"
#include "protocol/net/tls.hpp"
#include "protocol/websocket/state.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// Removes `count` bytes from the front of `parts`.
void advance(std::vector<std::string_view>& parts, std::size_t count) {
  std::size_t gone = 0;
  while (gone < parts.size() && count >= parts[gone].size()) count -= parts[gone++].size();
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(gone));
  if (!parts.empty()) parts.front().remove_prefix(count);
}

/// Returns the first bytes of `parts`, at most `most`.
std::vector<std::string_view> front(std::span<const std::string_view> parts, std::size_t most) {
  std::vector<std::string_view> some;
  for (const std::string_view part : parts) {
    if (most == 0) break;
    some.push_back(part.substr(0, most));
    most -= some.back().size();
  }
  return some;
}

/// Empties `text` and frees its memory, which assigning an empty string would not do.
void release(std::string& text) {
  std::string{}.swap(text);
}

/// Returns a whole frame in one piece, masked for a client.
std::string frame(Opcode opcode, std::span<const std::string_view> parts, Side side) {
  std::array<char, kMaxFrameHeader> header;
  std::optional<MaskKey> mask;
  if (side == Side::client) random_bytes(std::as_writable_bytes(std::span{mask.emplace()}));
  const std::size_t payload = total_size(parts);
  const std::size_t size = write_frame_header(header, opcode, payload, mask);
  std::string out;
  out.reserve(size + payload);
  out.append(header.data(), size);
  for (const std::string_view part : parts) out += part;
  if (mask) apply_mask(std::span{out}.subspan(size), *mask, 0);
  return out;
}

std::string frame(Opcode opcode, std::string_view payload, Side side) {
  return frame(opcode, std::span{&payload, 1}, side);
}

/// Runs `work` shielded from the caller's cancellation: half a frame would break the connection for all senders.
template <class T>
auto shielded(Executor executor, Task<T> work) {
  return asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(asio::cancellation_slot{}, use_task));
}

}  // namespace

// --- taking turns ---

struct WebSocket::State::Waiter {
  explicit Waiter(State& state_in) : state{state_in}, event{state_in.stream.executor()} {}
  ~Waiter() {
    if (!granted) state.waiting.erase(place);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  State& state;
  Event event;
  std::list<Waiter*>::iterator place;
  bool granted = false;
};

Task<WebSocket::State::Turn> WebSocket::State::turn(bool first) {
  if (!std::exchange(busy, true)) co_return Turn{*this};
  Waiter self{*this};
  self.place = waiting.insert(first ? waiting.begin() : waiting.end(), &self);
  try {
    while (!self.granted) co_await self.event.wait();
  } catch (...) {
    if (self.granted) pass_turn();
    throw;
  }
  Turn mine{*this};
  // The wait may have been cancelled and granted at the same moment.
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error{asio::error::operation_aborted};
  }
  co_return mine;
}

void WebSocket::State::pass_turn() noexcept {
  flush_control();
  if (waiting.empty()) {
    busy = false;
    return;
  }
  Waiter* next = waiting.front();
  waiting.pop_front();
  next->granted = true;
  next->event.notify_all();
}

// --- writing ---

void WebSocket::State::flush_control() noexcept {
  while (!closed && stream.is_open()) {
    if (control_out.empty()) {
      if (pong_due) {
        control_out = frame(Opcode::pong, *pong_due, options.side);
        pong_due.reset();
      } else if (std::exchange(ping_due, false)) {
        control_out = frame(Opcode::ping, "", options.side);
      } else {
        return;
      }
    }
    const std::string_view bytes{control_out};
    const auto sent = stream.try_write({&bytes, 1});
    if (!sent) return;  // the next read or message reports it
    control_out.erase(0, *sent);
    if (!control_out.empty()) return;
    release(control_out);
  }
}

// The caller awaits the task and continues with the rest of `parts`.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
Task<WebSocket::State::Sent> WebSocket::State::write_by(std::vector<std::string_view>& parts, SteadyTime deadline) {
  // NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)
  while (true) {
    const auto sent = stream.try_write(parts);
    if (!sent) co_return Sent::broken;
    advance(parts, *sent);
    if (parts.empty()) co_return Sent::all;
    // A failed write of the stream does not report how many bytes it wrote. So only one byte is offered: it is written
    // or not. In TLS, where a begun record must be repeated in full, the same holds for a record.
    const std::vector<std::string_view> step = front(parts, stream.is_tls() ? kTlsRecord : 1);
    const auto waited = co_await stream.write(step, until(deadline));
    if (!waited) co_return waited.error().code == Errc::timeout ? Sent::too_slow : Sent::broken;
    advance(parts, total_size(step));
    heard = steady_clock::now();  // the peer makes room, so it is alive
  }
}

/// Finishes a message that the socket did not take at once. A peer that misses the deadline gets the time of one more
/// step to take the rest, so that a close frame with the reason can follow.
Task<Result<>> WebSocket::State::finish(State* self, std::vector<std::string_view> parts, bool begun) {
  const std::size_t message = begun ? 0 : total_size(parts) - self->control_out.size();
  const SteadyTime deadline = steady_clock::now() + self->options.write_deadline;
  Sent sent = co_await self->write_by(parts, deadline);
  if (sent == Sent::all) {
    release(self->control_out);
    co_return Result<>{};
  }
  if (sent == Sent::broken) co_return self->failed(Errc::io_error, "the connection broke while a message was sent");
  const std::string why =
      "a message did not leave within " + std::to_string(self->options.write_deadline.count()) + " ms";
  self->finish_with({self->options.write_deadline_code, "too slow", false}, {Errc::timeout, why});
  const SteadyTime last = steady_clock::now() + self->options.close_timeout;
  self->end_by = last;
  self->stream.cancel();  // wakes the reader, so that it sees the new state
  // A message without a sent byte need not delay the close frame (in TLS, bytes that were offered once must be
  // repeated).
  if (const std::size_t left = total_size(parts); !begun && left >= message && !self->stream.is_tls()) {
    parts.clear();
    if (left > message)
      parts.push_back(std::string_view{self->control_out}.substr(self->control_out.size() - (left - message)));
  }
  const std::string close =
      frame(Opcode::close, close_payload(self->options.write_deadline_code, "too slow"), self->options.side);
  parts.push_back(close);
  sent = co_await self->write_by(parts, last);
  release(self->control_out);
  if (sent == Sent::all) {
    self->sent_close = true;
    self->stream.shutdown_write();
  } else {
    self->stream.close();
  }
  co_return fail(Errc::timeout, why);
}

Task<Result<>> WebSocket::State::write_frame(std::span<const std::string_view> parts) {
  if (closed || sent_close || !stream.is_open()) co_return over();
  std::size_t sent = 0;
  std::vector<std::string_view> rest;
  if (!control_out.empty()) {
    rest.emplace_back(control_out);
  } else {
    const auto taken = stream.try_write(parts);
    if (!taken) co_return failed(Errc::io_error, taken.error().message);
    sent = *taken;
    if (sent == total_size(parts)) co_return Result<>{};
  }
  rest.insert(rest.end(), parts.begin(), parts.end());
  advance(rest, sent);
  auto work = finish(this, std::move(rest), sent != 0);
  co_return co_await shielded(stream.executor(), std::move(work));
}

Task<Result<>> WebSocket::State::send_message(Opcode opcode, std::span<const std::string_view> parts) {
  if (closed) co_return over();
  const Turn mine = co_await turn(false);
  if (options.side == Side::client) {
    const std::string bytes = frame(opcode, parts, options.side);
    const std::string_view whole{bytes};
    co_return co_await write_frame({&whole, 1});
  }
  std::array<char, kMaxFrameHeader> header;
  const std::size_t header_size = write_frame_header(header, opcode, total_size(parts));
  std::array<std::string_view, 8> few;
  std::vector<std::string_view> many;
  if (parts.size() >= few.size()) many.resize(parts.size() + 1);
  const std::span<std::string_view> all = many.empty() ? std::span{few}.first(parts.size() + 1) : std::span{many};
  all[0] = {header.data(), header_size};
  std::ranges::copy(parts, all.begin() + 1);
  co_return co_await write_frame(all);
}

Task<bool> WebSocket::State::write_close(State* self, std::string bytes) {
  std::vector<std::string_view> parts;
  if (!self->control_out.empty()) parts.emplace_back(self->control_out);
  parts.emplace_back(bytes);
  const Sent sent = co_await self->write_by(parts, steady_clock::now() + self->options.close_timeout);
  release(self->control_out);
  co_return sent == Sent::all;
}

Task<> WebSocket::State::send_close(std::uint16_t code, std::string reason, bool first) {
  if (sent_close || !stream.is_open()) co_return;
  const Turn mine = co_await turn(first);
  if (sent_close || !stream.is_open()) co_return;
  sent_close = true;
  auto work = write_close(this, frame(Opcode::close, close_payload(code, reason), options.side));
  if (const bool sent = co_await shielded(stream.executor(), std::move(work)); !sent) stream.close();
}

}  // namespace skiff::protocol
