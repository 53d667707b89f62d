#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/upgraded.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

class HttpConnection;

/// Takes the connection over. It runs after the handler has returned and all memory of the HTTP exchange is free. It is
/// part of the server: cancelled and joined with it. The destructor of `Upgraded` closes the connection.
using UpgradeHandler = std::move_only_function<Task<>(Upgraded)>;

/// One request and its response. It lives as long as the handler that was called with it, which must send exactly one
/// response. One task at a time may read the body, and one may write; `peer_closed` may run beside both.
///
/// Failures of the connection are returned as an `Error` (the peer is gone, or `timeout` on a stalled one). The handler
/// should then clean up and return: it can send no more.
class HttpExchange {
 public:
  HttpExchange(HttpConnection& connection, HttpRequest request);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  [[nodiscard]] const HttpRequest& request() const noexcept { return request_; }
  /// The fields of the request, for a handler that changes them before another one answers.
  [[nodiscard]] Headers& request_headers() noexcept { return request_.headers; }
  /// The peer, for logs: "127.0.0.1:51234", "unix:".
  [[nodiscard]] std::string_view peer() const noexcept;
  /// The server's own address on this connection (getsockname(2)).
  [[nodiscard]] const Address& local_address() const;
  [[nodiscard]] bool is_tls() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;

  /// Marks the connection as authenticated by `holder`: it then uses a place of that holder (ConnectionSlots). Errors:
  /// `too_many_connections` when no slot can be freed; the connection then ends after this response. An
  /// unauthenticated connection is closed when others need its slot, and soon after its response.
  [[nodiscard]] Result<> mark_authenticated(Holder holder = {});

  /// Returns a share of the budget for unread bytes, for bytes that the handler keeps. `lost` null: if the share is
  /// lost, the wait for the body ends.
  [[nodiscard]] std::unique_ptr<ReceiveBudget::Share> share(std::function<void()> lost = {});
  /// The budget, and the holder of this connection's share in it.
  [[nodiscard]] ReceiveBudget* budget() const noexcept;
  [[nodiscard]] const std::string& who() const noexcept;

  // --- the request's body -------------------------------------------------------------------------------------------
  /// Reads the whole body. Errors: `payload_too_large` above `limit` bytes, `request_timeout` when no byte comes for
  /// the read time, `invalid_request` for broken chunks or a truncated body; the handler responds with these. It first
  /// sends "100 Continue" if the client waits for it, as `read_body_some` does.
  [[nodiscard]] Task<Result<std::string>> read_body(std::size_t limit);
  /// Reads the next bytes, 0 at the end. `into` must stay valid and not be empty.
  [[nodiscard]] Task<Result<std::size_t>> read_body_some(std::span<char> into);

  /// Waits until `read_body_some` may return, with the same errors. Needs no memory meanwhile.
  [[nodiscard]] Task<Result<>> body_readable();
  /// Whether `read_body_some` returns at once.
  [[nodiscard]] bool has_body();
  /// The trailers of a chunked body; valid after its end. Empty for other bodies.
  [[nodiscard]] const Headers& trailers() const noexcept;
  /// Sets the end of the request's permission: reading later bytes of the body fails with `unauthenticated`.
  void end_body_at(std::optional<WallTime> end) noexcept;
  /// From now on reading the body sends no "100 Continue"; `inform` does, when the next server has asked for the body.
  void relay_continue() noexcept { relays_continue_ = true; }

  // --- the response -------------------------------------------------------------------------------------------------
  /// Fields that the response will carry in any case (X-Request-Id, ...), unless it has a field of that name.
  [[nodiscard]] Headers& extra_headers() noexcept { return extra_headers_; }
  /// Closes the connection after this response.
  void close_after_response() noexcept { close_after_ = true; }

  /// Sends an interim response (1xx, but not 101) before the response; does nothing for an HTTP/1.0 client (RFC 9110,
  /// 15.2).
  [[nodiscard]] Task<Result<>> inform(unsigned status, Headers headers);

  /// Sends a whole response, head and body in one send. The body is omitted for HEAD, 204 and 304.
  [[nodiscard]] Task<Result<>> respond(HttpResponse response);

  /// Begins a response whose body follows. With `length`, exactly that many bytes must be written. Without it, the body
  /// is chunked (HTTP/1.1) or ends with the connection (HTTP/1.0). `with_first_write` holds the head back for the first
  /// `write` or `finish`, which saves a send when that follows at once.
  enum class Send : unsigned char { now, with_first_write };
  [[nodiscard]] Task<Result<>> start(HttpResponse head, std::optional<std::uint64_t> length = {},
                                     Send send = Send::now);
  /// Sends the parts without copying them: they must stay valid until it returns. Empty writes are ignored.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> write(std::string_view bytes);
  /// Sends `length` bytes of a regular file, from `offset` on, in a response with a length. Calls that may wait for the
  /// disk run on `disk`; on a plain connection the bytes do not pass through this process (sendfile(2)). Errors: also
  /// io_error when the file has become shorter.
  [[nodiscard]] Task<Result<>> send_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length);
  /// Ends the body. Trailers are sent only with chunked framing; name them in a `Trailer` field of the head. If the
  /// handler returns without calling it, the connection ends abruptly, so that the client sees a truncated body.
  [[nodiscard]] Task<Result<>> finish(Headers trailers = {});

  // --- the connection -----------------------------------------------------------------------------------------------
  /// Returns true when the peer has closed or reset the connection (a half-closed one counts as closed), false when
  /// cancelled. It does not throw then, because most of these calls end by cancellation. Bytes that the peer sends
  /// meanwhile are kept, up to a limit. Run it beside the response (base/async/beside.hpp).
  [[nodiscard]] Task<bool> peer_closed();
  /// Calls `gone` when the peer has closed or reset the connection, and not when cancelled.
  [[nodiscard]] Task<> watch_peer(std::function<void()> gone);

  /// Whether the peer has ended its direction properly; it may still wait for the response.
  [[nodiscard]] bool peer_has_shut() const noexcept;

  /// Detects a peer that has vanished (tcp(7), SO_KEEPALIVE) after a few times `idle`.
  void probe_peer(std::chrono::seconds idle) noexcept;

  /// Ends the current calls on the connection with `cancelled`.
  void cancel() noexcept;

  /// Sends "101 Switching Protocols" with these fields and hands the connection to `handler`; this also authenticates
  /// the connection.
  [[nodiscard]] Task<Result<>> upgrade(Headers headers, UpgradeHandler handler);

  // --- for the log --------------------------------------------------------------------------------------------------
  /// 0 until a head was created.
  [[nodiscard]] unsigned status() const noexcept { return status_; }
  [[nodiscard]] std::uint64_t body_bytes_sent() const noexcept { return body_bytes_sent_; }

 private:
  friend class HttpConnection;
  enum class Phase : unsigned char { waiting, body, done, failed, upgraded };
  [[nodiscard]] Result<> begin_head(const HttpResponse& head, std::optional<std::uint64_t> length, bool streamed);
  [[nodiscard]] Task<Result<>> send(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> send_head();
  [[nodiscard]] Task<Result<>> splice_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] Task<Result<>> copy_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] Task<Result<>> send_continue();

  HttpConnection& connection_;
  HttpRequest request_;
  Headers extra_headers_;
  std::string head_;  ///< not sent yet
  UpgradeHandler upgrade_;
  std::uint64_t body_bytes_sent_ = 0;
  std::uint64_t body_bytes_left_ = 0;  ///< remaining bytes of a response with a length
  unsigned status_ = 0;
  Phase phase_ = Phase::waiting;
  bool close_after_ = false;
  bool chunked_ = false;
  bool counted_ = false;  ///< the response has a length
  bool relays_continue_ = false;
  bool bodiless_ = false;
};

}  // namespace skiff::protocol
