#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/net/tunnel.hpp"

namespace skiff::protocol {

/// Limits the bodies that move in large blocks at the same time; each holder may have as many as the others leave free.
/// A block stays in use for as long as its receiver takes. Other bodies move in blocks of 64 KiB. Reactor thread only.
class LargeBlocks {
 public:
  /// The block size that keeps a fast connection over loopback or a good network busy. With 64 KiB each block wakes
  /// both sides, and the speed is half (docs/adr/0024).
  static constexpr std::size_t kBytes = 1024 * 1024;

  explicit LargeBlocks(std::size_t most) : taken_{most} {}
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  /// Returns a block for `who`, which lasts as long as the part; an empty part when none is free.
  [[nodiscard]] Shares::Part take(const std::string& who) {
    return taken_.leaves_room(who) ? Shares::Part{taken_, who} : Shares::Part{};
  }
  [[nodiscard]] std::size_t left() const noexcept { return taken_.most() - taken_.used(); }

 private:
  Shares taken_;
};

/// Looks at a response on its way to the client, and may change it. Bytes may be kept back, but their number stays.
class AnswerFilter {
 public:
  virtual ~AnswerFilter() = default;
  /// Judges the head before anything of it has passed. An error is that of the relay.
  [[nodiscard]] virtual Result<> judge(const HttpResponseHead& head) = 0;
  /// Changes fields: those of the head, of an interim response, or trailers.
  virtual void change(Headers& fields) = 0;
  /// Returns what may pass after these bytes of the body came. Valid until the next call, and as long as they are.
  [[nodiscard]] virtual std::string_view pass(std::string_view bytes) = 0;
  /// Returns what was kept back, at the end of the body.
  [[nodiscard]] virtual std::string_view rest() = 0;
};

struct RelayOptions {
  /// The time from the end of the request to the head of the response.
  std::chrono::milliseconds answer_time{60'000};
  /// How long either side may be silent before it is probed (Stream::probe_peer).
  std::chrono::seconds probe_idle{15};
  /// Most bytes of the request's body: with a further one the relay fails with `payload_too_large`.
  std::uint64_t most_of_body = std::numeric_limits<std::uint64_t>::max();
  /// The end of the client's permission, and with it of the response.
  std::optional<WallTime> ends = {};
  /// Blocks for fast bodies with fast receivers; null: blocks of 64 KiB. It must outlive the relay.
  LargeBlocks* large_blocks = nullptr;
  /// Changes the fields of the response before they are passed on; not those of interim responses.
  std::function<void(Headers& fields)> change_answer = {};
  /// Sees the whole response, except what follows a 101; null: it passes as it is.
  AnswerFilter* filter = nullptr;
  /// Changes the trailers of the request's body; null: they are unchanged.
  void (*trailer_fields)(Headers& fields) = nullptr;
  /// Takes both connections over after a 101, as an UpgradeHandler does.
  std::move_only_function<Task<>(Upgraded client, Upgraded server)> upgraded = {};
};

/// Passes a request on to another server, and its response back: interim responses, bodies and trailers in both
/// directions at the same time, block by block, each at the pace of its receiver. `request` has the head for the server
/// (`forwarded_request`). `server` has no connection, or one that is reusable, and a `read_idle_time` of kForever:
/// after its head, the response may take as long as the client stays. When one side leaves, the other is closed; a
/// response that is truncated on one side is truncated on the other. Another task can end the relay by
/// `server.close()`.
///
/// Errors before the response has begun, which the caller responds with: those of the server's `connect`; `timeout`;
/// `bad_gateway` when the server broke off or sent an invalid response; `invalid_request` and `request_timeout` for the
/// client's body; `cancelled` when the client has left; `unauthenticated` when `ends` is reached.
[[nodiscard]] Task<Result<>> relay(HttpExchange* http, HttpClient* server, HttpClient::Request request,
                                   RelayOptions options);

/// For `RelayOptions::upgraded`: sends the bytes that came after the heads, then carries bytes both ways
/// (protocol/net/tunnel.hpp), until `ends` at most.
[[nodiscard]] Task<> carry(Upgraded client, Upgraded server, TunnelLimits limits, std::optional<WallTime> ends);

}  // namespace skiff::protocol
