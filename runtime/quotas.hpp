#pragma once

#include <cstddef>
#include <cstdint>

#include "base/async/fair_semaphore.hpp"
#include "base/shares.hpp"
#include "protocol/net/receive_budget.hpp"
#include "runtime/pools.hpp"

namespace skiff::runtime {

/// What clients share: none gets more than the others leave free.
struct Quotas {
  /// Of WebSockets, of all together: some kilobytes each.
  static constexpr std::size_t kChannels = 8'192;
  /// That are made at a time: each is a few dozen megabytes until it is whole, and the reactor makes them one by one.
  static constexpr std::size_t kLargeAnswers = 4;

  Quotas(Executor executor, std::uint64_t received_bytes)
      : received{received_bytes},
        large_answers{executor, kLargeAnswers, kLargeAnswers / 2},
        composed_answers{executor, kLargeAnswers, kLargeAnswers} {}

  protocol::ReceiveBudget received;  ///< by all servers of the agent
  Shares channels{kChannels};        ///< of all connections
  Shares transfers{Pools::kTransfers};
  FairSemaphore large_answers;     ///< see `api::turn_to_answer`
  FairSemaphore composed_answers;  ///< the same of dialects, which wait for `Pools::long_work` meanwhile
};

}  // namespace skiff::runtime
