#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "base/task.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/net/tunnel.hpp"

namespace skiff::protocol {

/// How many bodies may move in large blocks at the same time, of each holder as many as the others leave free: such a
/// block is held for as long as its receiver makes it wait. The others move in blocks of 64 KiB. Reactor thread only.
class LargeBlocks {
 public:
  /// What a fast connection over loopback or a good network needs to be kept busy: with 64 KiB each of them is a
  /// wake-up of both sides, and half of the speed (docs/adr/0024).
  static constexpr std::size_t kBytes = 1024 * 1024;

  explicit LargeBlocks(std::size_t most) : taken_{most} {}
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  /// One, for as long as it lives; an empty one when there is none for him.
  [[nodiscard]] Shares::Part take(const std::string& who) {
    return taken_.leaves_room(who) ? Shares::Part{taken_, who} : Shares::Part{};
  }
  [[nodiscard]] std::size_t left() const noexcept { return taken_.most() - taken_.used(); }

 private:
  Shares taken_;
};

struct RelayOptions {
  /// From the end of the request to the answer's head.
  std::chrono::milliseconds answer_time{60'000};
  /// How long either side may be silent before it is probed (Stream::probe_peer).
  std::chrono::seconds probe_idle{15};
  /// When the client's right to this ends, and with it the answer.
  std::optional<WallTime> ends = {};
  /// For bodies that come fast and whose receiver keeps up; null: they move in blocks of 64 KiB. It must outlive them.
  LargeBlocks* large_blocks = nullptr;
  /// Changes the fields of the answer before they go on, of interim ones not.
  std::function<void(Headers& fields)> change_answer = {};
  /// The same of the fields behind the request's body; null: they stay.
  void (*trailer_fields)(Headers& fields) = nullptr;
  /// Takes both connections over after a 101, as an UpgradeHandler does.
  std::move_only_function<Task<>(Upgraded client, Upgraded server)> upgraded = {};
};

/// Passes a request on to another server, and its answer back: interim answers, bodies and trailers both ways at once,
/// block by block, each at the pace of its receiver. `request` has the head as it goes on (`forwarded_request`);
/// `server` has no connection yet, and a `read_idle_time` of kForever: from the head on, the answer may take as long as
/// the client stays. Whoever of the two leaves takes the other along; an answer that is cut on one side is cut on the
/// other, and `server.close()` by a third ends it.
///
/// Errors before the answer has begun, for the caller to answer with: those of the server's `connect` as they are;
/// `timeout`; `bad_gateway` when the server broke off or spoke nonsense; `invalid_request` and `request_timeout` when
/// the client's body did; `cancelled` when it has left;
/// `unauthenticated` when `ends` has come.
[[nodiscard]] Task<Result<>> relay(HttpExchange* http, HttpClient* server, HttpClient::Request request,
                                   RelayOptions options);

/// For `RelayOptions::upgraded`: what has come behind the heads goes first, then bytes are carried both ways
/// (protocol/net/tunnel.hpp), until `ends` at most.
[[nodiscard]] Task<> carry(Upgraded client, Upgraded server, TunnelLimits limits, std::optional<WallTime> ends);

}  // namespace skiff::protocol
