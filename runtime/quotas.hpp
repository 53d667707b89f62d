#pragma once

#include <cstddef>
#include <cstdint>

#include "base/async/fair_semaphore.hpp"
#include "base/shares.hpp"
#include "protocol/net/receive_budget.hpp"
#include "runtime/pools.hpp"

namespace skiff::runtime {

/// Resources that all clients share. A client gets at most what the others leave free.
struct Quotas {
  /// Channels of all WebSockets together; each takes some kilobytes.
  static constexpr std::size_t kChannels = 8'192;
  /// Large answers composed at a time: each takes a few dozen megabytes until it is complete.
  static constexpr std::size_t kLargeAnswers = 4;

  Quotas(Executor executor, std::uint64_t received_bytes)
      : received{received_bytes},
        large_answers{executor, kLargeAnswers, kLargeAnswers / 2},
        composed_answers{executor, kLargeAnswers, kLargeAnswers} {}

  protocol::ReceiveBudget received;  ///< memory for received bytes, for all servers of the agent
  Shares channels{kChannels};        ///< channels of WebSockets, for all connections
  Shares transfers{Pools::kTransfers};
  FairSemaphore large_answers;     ///< see `api::turn_to_answer`
  FairSemaphore composed_answers;  ///< for dialects, which hold it while they wait for `Pools::long_work`
};

}  // namespace skiff::runtime
