#pragma once

#include "container/agent/copy/tar.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// Adds to the summary what the agent left out of an archive. The trailers `X-Skiff-Left-Out`, `X-Skiff-Left-Out-Names`
/// and `X-Skiff-Special-Files` say it; an old agent sends none of them.
void note_left_out(const protocol::Headers& trailers, TarSummary& summary);

}  // namespace skiff::container
