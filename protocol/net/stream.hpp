#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::protocol {

class TlsSession;

/// No limit on a wait.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

/// Returns the total size of the parts of a message.
[[nodiscard]] inline std::size_t total_size(std::span<const std::string_view> parts) noexcept {
  std::size_t sum = 0;
  for (const std::string_view part : parts) sum += part.size();
  return sum;
}

/// The bytes that a stream has carried.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// A connected byte stream (TCP or Unix socket, plain or TLS) over a non-blocking descriptor that it owns. Each call
/// tries the system call first and waits only on EAGAIN, so a ready stream never suspends. One read and one write may
/// run at the same time. Move-only; it may be moved or destroyed during a call, which then ends with `cancelled`.
/// Reactor thread only.
///
/// Errors: `cancelled` after `cancel()` or `close()`, `timeout` when a wait exceeds its limit, else those of the
/// socket. A cancelled coroutine (TaskGroup::cancel) gets system_error(operation_aborted) instead.
class Stream {
 public:
  Stream() = default;
  /// `socket` must be connected, non-blocking and close-on-exec. `peer` is a text for people and logs. With `tls` the
  /// stream is usable after `handshake` has succeeded.
  Stream(Executor executor, UniqueFd socket, std::string peer);
  Stream(Executor executor, UniqueFd socket, std::string peer, std::unique_ptr<TlsSession> tls);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Turns a plain stream into a TLS one; call `handshake` next. No other call may be running.
  void secure(std::unique_ptr<TlsSession> tls);
  /// Completes the TLS handshake; does nothing on a plain stream. The limit is for the whole handshake.
  [[nodiscard]] Task<Result<>> handshake(std::chrono::milliseconds limit);

  /// Reads at least one byte; returns 0 at the end of the stream. `into` must stay valid and not be empty.
  [[nodiscard]] Task<Result<std::size_t>> read_some(std::span<char> into, std::chrono::milliseconds limit = kForever);

  /// Writes all of `parts`, which must stay valid until it returns. `stall_limit` is the longest time without progress.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts,
                                     std::chrono::milliseconds stall_limit = kForever);

  /// Waits until a read would not block (bytes, end or error).
  [[nodiscard]] Task<Result<>> readable(std::chrono::milliseconds limit = kForever);

  /// Waits until a write would not block.
  [[nodiscard]] Task<Result<>> writable(std::chrono::milliseconds limit = kForever);
  /// Waits until the connection is broken (reset, or both directions ended), without reading.
  [[nodiscard]] Task<Result<>> broken();

  /// Reads without waiting; returns nothing when it would block.
  [[nodiscard]] std::optional<Result<std::size_t>> try_read(std::span<char> into);
  /// Writes without waiting; returns how many bytes of `parts` the kernel took (0: would block).
  [[nodiscard]] Result<std::size_t> try_write(std::span<const std::string_view> parts);

  /// Lets the kernel probe a TCP peer that has been silent for `idle`, and then at the same interval; after three
  /// unanswered probes the connection is broken (tcp(7), SO_KEEPALIVE).
  void probe_peer(std::chrono::seconds idle) noexcept;
  /// Ends the outgoing direction (with close_notify on TLS); reading continues.
  void shutdown_write() noexcept;
  /// Ends a current read that has a limit with `timeout`, as if the limit were reached.
  void give_up_reading();
  /// Ends the current calls; the stream stays open.
  void cancel() noexcept;
  /// Ends the current calls and closes the descriptor, once.
  void close() noexcept;
  /// Returns a function that closes the connection; it may be called at any time, even after the connection has moved
  /// Returns a function that closes the connection, whichever Stream owns it by then, if any.
  [[nodiscard]] std::function<void()> closer() const;

  /// Counts the bytes from now on, with those that `note` tells of. The result goes on counting wherever the stream is
  /// moved, and outlives it.
  [[nodiscard]] std::shared_ptr<const Traffic> count();
  /// Bytes have passed by the descriptor, without this stream.
  void note(const Traffic& passed) noexcept;

  [[nodiscard]] bool is_open() const noexcept;
  [[nodiscard]] bool is_tls() const noexcept;
  [[nodiscard]] const std::string& peer() const noexcept;
  /// -1 when closed. For socket options and splice(2); on TLS its bytes are cipher text.
  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skiff::protocol
