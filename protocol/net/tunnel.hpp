#pragma once

#include <chrono>
#include <string>

#include "base/async/task.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/splice_pipes.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

struct TunnelLimits {
  std::chrono::milliseconds stall;   ///< longest time without progress of a receiver
  std::chrono::milliseconds silent;  ///< after the end of one direction: longest time without a byte in the other
  /// The budget for bytes whose receiver is slow; both connections are closed when it has no room. Null: no limit.
  ReceiveBudget* budget = nullptr;
  const std::string* who = nullptr;  ///< holder in the budget, and of pipes
  /// For bytes that come fast and are taken fast; null: all are copied. Bytes in a pipe do not count in the budget.
  SplicePipes* pipes = nullptr;
};

/// Carries bytes between two connections, in both directions, each at the pace of its receiver. The end of one
/// direction is passed on, and the other continues. Returns when both have ended, when either connection breaks, at a
/// limit, or when one of the streams is closed; then both are closed. An idle tunnel holds no buffer and no pipe. The
/// caller owns the streams.
[[nodiscard]] Task<> tunnel(Stream* one, Stream* other, TunnelLimits limits);

}  // namespace skiff::protocol
