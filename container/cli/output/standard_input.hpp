#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "container/agent/copy/copy.hpp"

namespace skiff::container {

/// Reads the next bytes of stdin, at most `most`; empty at its end. Blocks until there are some; `cancelled` once the
/// eventfd `leave` is set.
[[nodiscard]] Result<std::string> read_stdin(int leave, std::size_t most);

/// Produces the bytes of stdin until its end; `bytes` of its summary is their number.
[[nodiscard]] Result<ByteProducer> standard_input();

}  // namespace skiff::container
