#pragma once

#include "container/serve/route.hpp"

namespace skiff::container::serve::own {

/// Sends the newest lines of the log of a sandbox's egress by name, and then each new one, as server-sent events, until
/// the sandbox is removed, the client leaves, its key ends or the server stops.
[[nodiscard]] Task<Result<protocol::HttpResponse>> stream_network_log(Call* call);

}  // namespace skiff::container::serve::own
