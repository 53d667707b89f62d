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

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

class HttpConnection;

/// A connection that is no longer HTTP.
struct Upgraded {
  Stream stream;
  std::string buffered;             ///< what the client had already sent; comes before what the stream gives
  ReceiveBudget* budget = nullptr;  ///< for what comes and is not yet used; null: without a limit
  std::string who = {};             ///< whose share of that it is
};

/// Takes the connection over. It runs when the handler has returned and all memory of the HTTP exchange is free, as
/// part of the server: cancelled and joined with it. The connection is closed when `Upgraded` goes away.
using UpgradeHandler = std::move_only_function<Task<>(Upgraded)>;

/// One request and its response. It lives as long as the handler that was called with it, which must send exactly one
/// response. One task at a time may read the body and one may write; `peer_closed` may run beside both.
///
/// What goes wrong on the connection comes back as an `Error` (the peer is gone, or `timeout` on a stalled one); the
/// handler should then clean up and return: nothing more can be sent.
class HttpExchange {
 public:
  HttpExchange(HttpConnection& connection, HttpRequest request);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  [[nodiscard]] const HttpRequest& request() const noexcept { return request_; }
  /// The other side, for logs: "127.0.0.1:51234", "unix:".
  [[nodiscard]] std::string_view peer() const noexcept;
  /// Our own address on this connection (getsockname(2)).
  [[nodiscard]] const Address& local_address() const;
  [[nodiscard]] bool is_tls() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;

  /// The client has shown a credential, `holder`'s: its connection has a place of his from now on (Places).
  /// `too_many_connections` when none makes room for it; the connection ends after this response then. Without it a
  /// connection is closed when others need its place, and soon after its answer.
  [[nodiscard]] Result<> vouch(Holder holder = {});

  /// A share of the budget for what is received and not yet used, for what the handler keeps of it. `lost` null: the
  /// wait for the body ends when it is lost.
  [[nodiscard]] std::unique_ptr<ReceiveBudget::Share> share(std::function<void()> lost = {});
  /// Whose it is.
  [[nodiscard]] ReceiveBudget* budget() const noexcept;
  [[nodiscard]] const std::string& who() const noexcept;

  // --- the request's body -------------------------------------------------------------------------------------------
  /// The whole body. `payload_too_large` above `limit` bytes, `request_timeout` when nothing comes for the read time,
  /// `invalid_request` on broken chunks or when the peer ends it early: the handler answers with these. Sends
  /// "100 Continue" first if the client waits for it, as `read_body_some` does.
  [[nodiscard]] Task<Result<std::string>> read_body(std::size_t limit);
  /// The next bytes, 0 at the end. `into` must stay valid and not be empty.
  [[nodiscard]] Task<Result<std::size_t>> read_body_some(std::span<char> into);

  /// Ends when `read_body_some` may have something, with the errors of that. Needs no memory meanwhile.
  [[nodiscard]] Task<Result<>> body_readable();
  /// Whether `read_body_some` has something at once.
  [[nodiscard]] bool has_body();
  /// After the end of a chunked body: the fields behind it. Empty for other bodies.
  [[nodiscard]] const Headers& trailers() const noexcept;
  /// What the request was admitted with holds until then: reading what comes of its body later fails with
  /// `unauthenticated`.
  void end_body_at(std::optional<WallTime> end) noexcept;
  /// From now on reading the body sends no "100 Continue": `inform` does, when somebody else has asked for the body.
  void relay_continue() noexcept { relays_continue_ = true; }

  // --- the response -------------------------------------------------------------------------------------------------
  /// Fields that whatever response is sent will carry (X-Request-Id, ...), unless it has one of that name itself.
  [[nodiscard]] Headers& extra_headers() noexcept { return extra_headers_; }
  /// The connection ends after this response.
  void close_after_response() noexcept { close_after_ = true; }

  /// Sends an interim response (1xx, but not 101), before the response itself; nothing to an HTTP/1.0 client (RFC 9110,
  /// 15.2).
  [[nodiscard]] Task<Result<>> inform(unsigned status, Headers headers);

  /// Sends a whole response, head and body in one send. To HEAD, and for 204 and 304, the body stays out.
  [[nodiscard]] Task<Result<>> respond(HttpResponse response);

  /// Begins a response whose body follows. With `length`, exactly that many bytes must be written; without, it is
  /// chunked (HTTP/1.1) or ends with the connection (HTTP/1.0). `with_first_write` keeps the head back for the first
  /// `write` or `finish`, which saves a send when that comes at once.
  enum class Send : unsigned char { now, with_first_write };
  [[nodiscard]] Task<Result<>> start(HttpResponse head, std::optional<std::uint64_t> length = {},
                                     Send send = Send::now);
  /// Sends the parts as they are, without copying them: they must live until it returns. Empty writes are nothing.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> write(std::string_view bytes);
  /// Sends `length` bytes of a regular file, from `offset` on, in a response with a length. What may wait for the disk
  /// is done on `disk`; on a plain connection the bytes don't pass through this process (sendfile(2)). Errors: also
  /// io_error when the file has become shorter.
  [[nodiscard]] Task<Result<>> send_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length);
  /// Ends the body. Trailers go out only with chunked framing; name them in a `Trailer` field of the head. A handler
  /// that returns without it makes the connection end abruptly, so that the client sees that the body was cut.
  [[nodiscard]] Task<Result<>> finish(Headers trailers = {});

  // --- the connection -----------------------------------------------------------------------------------------------
  /// True when the peer has closed or reset the connection (a half-closed one counts as closed), false when cancelled:
  /// it throws nothing then, as that is how nearly every one of these ends. What the peer sends meanwhile is kept, up
  /// to a limit. Meant to run beside the answer (base/beside.hpp).
  [[nodiscard]] Task<bool> peer_closed();

  /// Whether it has ended its direction in good order; it may still wait for the answer.
  [[nodiscard]] bool peer_has_shut() const noexcept;

  /// A peer that has vanished without a word is found out (tcp(7), SO_KEEPALIVE) after a few times `idle`.
  void probe_peer(std::chrono::seconds idle) noexcept;

  /// Ends the calls that are under way on the connection, with `cancelled`.
  void cancel() noexcept;

  /// Sends "101 Switching Protocols" with these fields and arranges that `handler` gets the connection, which is
  /// vouched for by that.
  [[nodiscard]] Task<Result<>> upgrade(Headers headers, UpgradeHandler handler);

  // --- for the log --------------------------------------------------------------------------------------------------
  /// 0 until a head was made.
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
  std::uint64_t body_bytes_left_ = 0;  ///< of a response with a length
  unsigned status_ = 0;
  Phase phase_ = Phase::waiting;
  bool close_after_ = false;
  bool chunked_ = false;
  bool counted_ = false;  ///< has a length
  bool relays_continue_ = false;
  bool bodiless_ = false;
};

}  // namespace skiff::protocol
