#pragma once

#include <cstddef>

#include "protocol/net/receive_budget.hpp"
#include "protocol/net/splice_pipes.hpp"

namespace skiff::container::egress {

/// The memory for bytes on their way, which the sandboxes of a process share. One that holds much makes room for
/// others.
struct Room {
  /// Tunnels that are carried through a pipe at the same time.
  static constexpr std::size_t kPipes = 16;

  explicit Room(std::size_t most) : held{most} {}

  protocol::ReceiveBudget held;  ///< bytes whose receiver is slow
  protocol::SplicePipes pipes{kPipes};
};

}  // namespace skiff::container::egress
