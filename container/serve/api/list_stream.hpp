#pragma once

#include "container/serve/route.hpp"

namespace skiff::container::serve::own {

/// Sends the tenant's sandboxes and then each change as server-sent events, until the client leaves, its key ends or
/// the server stops.
[[nodiscard]] Task<Result<protocol::HttpResponse>> stream_list(Call* call);

}  // namespace skiff::container::serve::own
