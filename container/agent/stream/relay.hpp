#pragma once

#include "base/async/task.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Passes bytes in both directions, and each direction's end, until both have ended or one side breaks.
[[nodiscard]] Task<> relay(protocol::Stream one, protocol::Stream other);

}  // namespace skiff::container
