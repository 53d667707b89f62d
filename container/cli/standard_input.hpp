#pragma once

#include "base/error.hpp"
#include "container/agent/copy.hpp"

namespace skiff::container {

/// What comes on stdin, until its end; `bytes` of its summary says how much that was.
[[nodiscard]] Result<ByteProducer> standard_input();

}  // namespace skiff::container
