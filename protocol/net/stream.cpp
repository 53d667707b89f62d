#include "protocol/net/stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/deadline.hpp"
#include "base/clock.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

Error closed_error() {
  return {Errc::cancelled, "the connection was closed on this side"};
}

IoStep step_of(ssize_t result, std::string_view attempted, IoStep::Kind would_block) {
  if (result >= 0) return {.bytes = static_cast<std::size_t>(result)};
  if (errno == EAGAIN || errno == EINTR) return {.kind = would_block};
  return {.kind = IoStep::Kind::failed, .error = system_error(errno, attempted)};
}

/// Returns the bytes of `parts` for the next TLS records. Small parts are joined, so that they do not take a record
/// each; what fills records, or is the only part, is not copied. Valid until the next call.
std::string_view next_records(std::span<const std::string_view> parts, std::size_t skip) {
  while (skip >= parts.front().size()) {
    skip -= parts.front().size();
    parts = parts.subspan(1);
  }
  const std::string_view first = parts.front().substr(skip);
  if (parts.size() == 1) return first;
  if (first.size() >= kTlsRecord) return first.substr(0, first.size() - first.size() % kTlsRecord);
  static thread_local const auto record = std::make_unique_for_overwrite<char[]>(kTlsRecord);
  std::size_t size = 0;
  for (std::string_view part : parts) {
    part = part.substr(std::exchange(skip, 0), kTlsRecord - size);
    if (!part.empty()) std::memcpy(record.get() + size, part.data(), part.size());
    size += part.size();
    if (size == kTlsRecord) break;
  }
  return {record.get(), size};
}

/// Sets a deadline while this lives; does nothing for nullptr.
class Limit {
 public:
  Limit(Deadline* deadline, milliseconds time) : deadline_{deadline} {
    if (deadline_ != nullptr) deadline_->expires_after(std::max(time, milliseconds{0}));
  }
  ~Limit() {
    if (deadline_ != nullptr) deadline_->clear();
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  [[nodiscard]] bool reached() const noexcept { return deadline_ != nullptr && deadline_->expired(); }

 private:
  Deadline* deadline_;
};

}  // namespace

/// State shared by the `Stream` and its current calls, so that either may end first.
struct Stream::State {
  using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
  enum class Side : unsigned char { read, write };

  State(Executor executor_in, UniqueFd socket, std::string peer_in, std::unique_ptr<TlsSession> tls_in)
      : executor{executor_in},
        descriptor{executor_in, socket.release()},
        peer{std::move(peer_in)},
        tls{std::move(tls_in)} {
    // Without this, Asio would make a system call at the first wait.
    boost::system::error_code ignored;
    descriptor.native_non_blocking(true, ignored);
  }

  [[nodiscard]] int fd() { return descriptor.is_open() ? descriptor.native_handle() : -1; }

  IoStep read(std::span<char> into) {
    IoStep step = read_uncounted(into);
    if (traffic && step.kind == IoStep::Kind::done) traffic->received += step.bytes;
    return step;
  }

  IoStep read_uncounted(std::span<char> into) {
    if (!descriptor.is_open()) return {.kind = IoStep::Kind::failed, .error = closed_error()};
    if (tls) return tls->read(into);
    IoStep step =
        step_of(::recv(fd(), into.data(), into.size(), 0), "read from the connection", IoStep::Kind::want_read);
    if (step.kind == IoStep::Kind::done && step.bytes == 0) step.kind = IoStep::Kind::end;
    return step;
  }

  /// Sends as many bytes of `parts` after the first `skip` bytes as the socket takes; `skip` is less than all bytes.
  IoStep write(std::span<const std::string_view> parts, std::size_t skip) {
    IoStep step = write_uncounted(parts, skip);
    if (traffic && step.kind == IoStep::Kind::done) traffic->sent += step.bytes;
    return step;
  }

  IoStep write_uncounted(std::span<const std::string_view> parts, std::size_t skip) {
    if (!descriptor.is_open()) return {.kind = IoStep::Kind::failed, .error = closed_error()};
    if (tls) return tls->write(next_records(parts, skip));
    std::array<iovec, 64> vectors;
    std::size_t count = 0;
    for (std::string_view part : parts) {
      if (skip >= part.size()) {
        skip -= part.size();
        continue;
      }
      part.remove_prefix(std::exchange(skip, 0));
      vectors[count++] = {const_cast<char*>(part.data()), part.size()};
      if (count == vectors.size()) break;
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    return step_of(::sendmsg(fd(), &message, MSG_NOSIGNAL), "write to the connection", IoStep::Kind::want_write);
  }

  /// Returns the deadline for the waits of one side. It is created at the first wait with a limit.
  Deadline& deadline(Side side) {
    std::unique_ptr<Deadline>& slot = side == Side::read ? read_deadline : write_deadline;
    if (!slot) {
      // This wakes both sides; a side whose limit is not reached waits again.
      slot = std::make_unique<Deadline>(executor, [this] { wake(); });
    }
    return *slot;
  }

  void wake() noexcept {
    boost::system::error_code ignored;
    if (descriptor.is_open()) descriptor.cancel(ignored);
  }

  void close() noexcept {
    ++cancellations;
    boost::system::error_code ignored;
    if (descriptor.is_open()) descriptor.close(ignored);
  }

  static Task<Result<>> wait(std::shared_ptr<State> self, Descriptor::wait_type what, Side side, milliseconds limit);
  static Task<Result<>> handshake(std::shared_ptr<State> self, milliseconds limit);
  static Task<Result<std::size_t>> read_some(std::shared_ptr<State> self, std::span<char> into, milliseconds limit);
  static Task<Result<>> write_all(std::shared_ptr<State> self, std::span<const std::string_view> parts,
                                  milliseconds stall_limit);
  static Task<Result<>> ready() { co_return Result<>{}; }
  static Task<Result<>> broken(std::shared_ptr<State> self);

  Executor executor;
  Descriptor descriptor;
  std::string peer;
  std::unique_ptr<TlsSession> tls;
  std::unique_ptr<Deadline> read_deadline;
  std::unique_ptr<Deadline> write_deadline;
  std::shared_ptr<Traffic> traffic;  ///< null as long as nobody counts
  unsigned cancellations = 0;
};

Task<Result<>> Stream::State::wait(std::shared_ptr<State> self, Descriptor::wait_type what, Side side,
                                   milliseconds limit) {
  const unsigned cancellations = self->cancellations;
  if (!self->descriptor.is_open()) co_return std::unexpected{closed_error()};
  const Limit until{limit == kForever ? nullptr : &self->deadline(side), limit};
  for (;;) {
    boost::system::error_code error;
    co_await self->descriptor.async_wait(what, asio::redirect_error(use_task, error));
    if (!error) co_return Result<>{};
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      if (!throws) co_return fail(Errc::cancelled, "the wait was cancelled");
      throw boost::system::system_error{asio::error::operation_aborted};
    }
    if (self->cancellations != cancellations || !self->descriptor.is_open()) co_return std::unexpected{closed_error()};
    if (until.reached()) {
      co_return fail(Errc::timeout, "the connection made no progress for " + std::to_string(limit.count()) + " ms");
    }
    if (error != asio::error::operation_aborted) co_return fail(Errc::io_error, "wait: " + error.message());
    // The wait was interrupted for the limit of the other side, so it continues.
  }
}

Task<Result<>> Stream::State::handshake(std::shared_ptr<State> self, milliseconds limit) {
  if (!self->tls) co_return Result<>{};
  const SteadyTime start = std::chrono::steady_clock::now();
  for (;;) {
    IoStep step = self->descriptor.is_open() ? self->tls->handshake()
                                             : IoStep{.kind = IoStep::Kind::failed, .error = closed_error()};
    if (step.kind == IoStep::Kind::done) co_return Result<>{};
    if (step.kind == IoStep::Kind::failed) co_return std::unexpected{std::move(step.error)};
    if (step.kind == IoStep::Kind::end) co_return fail(Errc::io_error, "TLS handshake: the peer closed the connection");
    milliseconds left = limit;
    if (limit != kForever) {
      left -= std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
      // A wait for a peer that never stops sending would not reach its limit.
      if (left <= milliseconds{0}) {
        co_return fail(Errc::timeout, "the TLS handshake took longer than " + std::to_string(limit.count()) + " ms");
      }
    }
    const auto what = step.kind == IoStep::Kind::want_write ? Descriptor::wait_write : Descriptor::wait_read;
    SKIFF_CO_TRY_VOID(co_await wait(self, what, Side::read, left));
  }
}

Task<Result<std::size_t>> Stream::State::read_some(std::shared_ptr<State> self, std::span<char> into,
                                                   milliseconds limit) {
  for (;;) {
    IoStep step = self->read(into);
    if (step.kind == IoStep::Kind::done) co_return step.bytes;
    if (step.kind == IoStep::Kind::end) co_return std::size_t{0};
    if (step.kind == IoStep::Kind::failed) co_return std::unexpected{std::move(step.error)};
    const auto what = step.kind == IoStep::Kind::want_write ? Descriptor::wait_write : Descriptor::wait_read;
    SKIFF_CO_TRY_VOID(co_await wait(self, what, Side::read, limit));
  }
}

Task<Result<>> Stream::State::write_all(std::shared_ptr<State> self, std::span<const std::string_view> parts,
                                        milliseconds stall_limit) {
  const std::size_t all = total_size(parts);
  std::size_t sent = 0;
  while (sent < all) {
    IoStep step = self->write(parts, sent);
    if (step.kind == IoStep::Kind::done) {
      sent += step.bytes;
      continue;
    }
    if (step.kind == IoStep::Kind::failed) co_return std::unexpected{std::move(step.error)};
    if (step.kind == IoStep::Kind::end) co_return fail(Errc::io_error, "write: the peer closed the connection");
    const auto what = step.kind == IoStep::Kind::want_read ? Descriptor::wait_read : Descriptor::wait_write;
    SKIFF_CO_TRY_VOID(co_await wait(self, what, Side::write, stall_limit));
  }
  co_return Result<>{};
}

Task<Result<>> Stream::State::broken(std::shared_ptr<State> self) {
  for (;;) {
    pollfd entry{.fd = self->fd(), .events = 0, .revents = 0};
    if (::poll(&entry, 1, 0) > 0) co_return Result<>{};
    SKIFF_CO_TRY_VOID(co_await wait(self, Descriptor::wait_error, Side::read, kForever));
  }
}

Stream::Stream(Executor executor, UniqueFd socket, std::string peer)
    : Stream{executor, std::move(socket), std::move(peer), nullptr} {}
Stream::Stream(Executor executor, UniqueFd socket, std::string peer, std::unique_ptr<TlsSession> tls)
    : state_{std::make_shared<State>(executor, std::move(socket), std::move(peer), std::move(tls))} {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
  }
  return *this;
}
Stream::~Stream() {
  close();
}

Task<Result<>> Stream::handshake(milliseconds limit) {
  return State::handshake(state_, limit);
}
Task<Result<std::size_t>> Stream::read_some(std::span<char> into, milliseconds limit) {
  return State::read_some(state_, into, limit);
}
Task<Result<>> Stream::write(std::span<const std::string_view> parts, milliseconds stall_limit) {
  return State::write_all(state_, parts, stall_limit);
}
Task<Result<>> Stream::writable(milliseconds limit) {
  return State::wait(state_, State::Descriptor::wait_write, State::Side::write, limit);
}
Task<Result<>> Stream::broken() {
  return State::broken(state_);
}
Task<Result<>> Stream::readable(milliseconds limit) {
  // Decrypted bytes inside the TLS session are not visible on the descriptor.
  if (state_->tls && state_->tls->pending()) return State::ready();
  return State::wait(state_, State::Descriptor::wait_read, State::Side::read, limit);
}

void Stream::secure(std::unique_ptr<TlsSession> tls) {
  state_->tls = std::move(tls);
}

std::optional<Result<std::size_t>> Stream::try_read(std::span<char> into) {
  IoStep step = state_->read(into);
  switch (step.kind) {
    case IoStep::Kind::done:
      return step.bytes;
    case IoStep::Kind::end:
      return 0;
    case IoStep::Kind::failed:
      return std::unexpected{std::move(step.error)};
    case IoStep::Kind::want_read:
    case IoStep::Kind::want_write:
      break;
  }
  return std::nullopt;
}

Result<std::size_t> Stream::try_write(std::span<const std::string_view> parts) {
  const std::size_t all = total_size(parts);
  std::size_t sent = 0;
  while (sent < all) {
    IoStep step = state_->write(parts, sent);
    if (step.kind == IoStep::Kind::failed) return std::unexpected{std::move(step.error)};
    if (step.kind != IoStep::Kind::done) break;
    sent += step.bytes;
  }
  return sent;
}

void Stream::probe_peer(std::chrono::seconds idle) noexcept {
  if (!is_open()) return;
  const auto set = [this](int level, int option, int value) {
    ::setsockopt(fd(), level, option, &value, sizeof value);
  };
  const int seconds = static_cast<int>(std::clamp<std::chrono::seconds::rep>(idle.count(), 1, 32'767));
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

void Stream::shutdown_write() noexcept {
  if (!is_open()) return;
  if (state_->tls) state_->tls->shutdown();
  ::shutdown(fd(), SHUT_WR);
}

void Stream::give_up_reading() {
  if (state_ && state_->read_deadline) state_->read_deadline->expires_after(milliseconds{0});
}

void Stream::cancel() noexcept {
  if (!state_) return;
  ++state_->cancellations;
  state_->wake();
}

void Stream::close() noexcept {
  if (state_) state_->close();
}

std::function<void()> Stream::closer() const {
  return [state = std::weak_ptr{state_}] {
    if (const auto still = state.lock()) still->close();
  };
}

std::shared_ptr<const Traffic> Stream::count() {
  if (!state_->traffic) state_->traffic = std::make_shared<Traffic>();
  return state_->traffic;
}

void Stream::note(const Traffic& passed) noexcept {
  if (!state_->traffic) return;
  state_->traffic->sent += passed.sent;
  state_->traffic->received += passed.received;
}

bool Stream::is_open() const noexcept {
  return state_ && state_->descriptor.is_open();
}
bool Stream::is_tls() const noexcept {
  return state_ && state_->tls;
}
const std::string& Stream::peer() const noexcept {
  static const std::string nobody;
  return state_ ? state_->peer : nobody;
}
int Stream::fd() const noexcept {
  return state_ ? state_->fd() : -1;
}
Executor Stream::executor() const noexcept {
  return state_->executor;
}

}  // namespace skiff::protocol
