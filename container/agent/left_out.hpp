#pragma once

#include "container/agent/tar.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// Adds what an agent says, in the trailers behind an archive, that it has left out of it: `X-Skiff-Left-Out`,
/// `X-Skiff-Left-Out-Names` and `X-Skiff-Special-Files`. One that says nothing knows nothing of it.
void note_left_out(const protocol::Headers& trailers, TarSummary& summary);

}  // namespace skiff::container
