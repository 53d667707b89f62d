#pragma once

#include <chrono>
#include <string>

#include "base/task.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

struct TunnelLimits {
  std::chrono::milliseconds stall;   ///< longest time that a side takes nothing of what the other sends
  std::chrono::milliseconds silent;  ///< once one side has ended: longest time without a byte from the other
  /// For what a receiver keeps waiting; both connections are closed when there is no room. Null: without a limit.
  ReceiveBudget* budget = nullptr;
  const std::string* who = nullptr;  ///< whose it is
};

/// Carries bytes between two connections, both ways, each at the pace of its receiver. The end of one direction is
/// passed on, and the other goes on. Ends when both have ended, when either connection breaks, at a limit, or when one
/// of the streams is closed meanwhile; both are closed then. An idle one holds no buffer. The streams stay the
/// caller's.
[[nodiscard]] Task<> tunnel(Stream* one, Stream* other, TunnelLimits limits);

}  // namespace skiff::protocol
