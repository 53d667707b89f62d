#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "base/unique_fd.hpp"

namespace skiff::protocol {

class TlsSession;

/// No limit on a wait.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

/// How many bytes the parts of a message have together.
[[nodiscard]] inline std::size_t total_size(std::span<const std::string_view> parts) noexcept {
  std::size_t sum = 0;
  for (const std::string_view part : parts) sum += part.size();
  return sum;
}

/// One connected byte stream (TCP or Unix socket, plain or TLS) over a non-blocking descriptor that it owns. Each call
/// tries the system call first and waits only on EAGAIN, so a ready stream never suspends. One read and one write may
/// be under way at the same time. Move-only; moving or destroying it while a call is under way is safe: the call ends
/// with `cancelled`. Reactor thread only.
///
/// Errors: `cancelled` after `cancel()` or `close()`, `timeout` when a wait took longer than asked, else the socket's.
/// A cancelled coroutine (TaskGroup::cancel) gets system_error(operation_aborted) instead.
class Stream {
 public:
  Stream() = default;
  /// `socket` must be connected, non-blocking and close-on-exec. `peer` is text for people and logs. With `tls` the
  /// stream is usable once `handshake` has succeeded.
  Stream(Executor executor, UniqueFd socket, std::string peer);
  Stream(Executor executor, UniqueFd socket, std::string peer, std::unique_ptr<TlsSession> tls);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Makes a plain stream a TLS one; `handshake` comes next. Nothing may be under way.
  void secure(std::unique_ptr<TlsSession> tls);
  /// Completes the TLS handshake; nothing to do on a plain stream. The limit is for the whole handshake.
  [[nodiscard]] Task<Result<>> handshake(std::chrono::milliseconds limit);

  /// At least one byte, or 0 at the end of the stream. `into` must stay valid and must not be empty.
  [[nodiscard]] Task<Result<std::size_t>> read_some(std::span<char> into, std::chrono::milliseconds limit = kForever);

  /// Writes all of `parts`, which stay the caller's and must live until it returns. `stall_limit` is the longest time
  /// without progress.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts,
                                     std::chrono::milliseconds stall_limit = kForever);

  /// Ends when a read would not block (bytes, end or error).
  [[nodiscard]] Task<Result<>> readable(std::chrono::milliseconds limit = kForever);

  /// Ends when a write would not block.
  [[nodiscard]] Task<Result<>> writable(std::chrono::milliseconds limit = kForever);
  /// Ends when the connection is broken (reset, or both directions ended), without reading.
  [[nodiscard]] Task<Result<>> broken();

  /// What a read gives right now; nothing when it would block.
  [[nodiscard]] std::optional<Result<std::size_t>> try_read(std::span<char> into);
  /// How many bytes of `parts` the kernel takes right now (0: would block).
  [[nodiscard]] Result<std::size_t> try_write(std::span<const std::string_view> parts);

  /// Lets the kernel ask a TCP peer that has been silent for `idle`, and then as often again, for a sign of life: one
  /// that gives none three times counts as a broken connection (tcp(7), SO_KEEPALIVE).
  void probe_peer(std::chrono::seconds idle) noexcept;
  /// Ends our direction (with close_notify on TLS); reading goes on.
  void shutdown_write() noexcept;
  /// A read that waits for no longer than a limit ends with `timeout`, as if that were reached.
  void give_up_reading();
  /// Ends the calls that are under way; the stream stays open.
  void cancel() noexcept;
  /// Ends the calls that are under way and closes the descriptor, once.
  void close() noexcept;
  /// Does that, whoever owns the connection by then, for as long as somebody does.
  [[nodiscard]] std::function<void()> closer() const;

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
