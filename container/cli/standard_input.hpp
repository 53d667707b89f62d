#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "container/agent/copy.hpp"

namespace skiff::container {

/// The next bytes of stdin, at most `most`, none at its end. Blocks until there are some; `cancelled` once the eventfd
/// `leave` is set.
[[nodiscard]] Result<std::string> read_stdin(int leave, std::size_t most);

/// What comes on stdin, until its end; `bytes` of its summary says how much that was.
[[nodiscard]] Result<ByteProducer> standard_input();

}  // namespace skiff::container
