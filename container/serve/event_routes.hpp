#pragma once

#include "container/serve/route.hpp"

/// Of the server's own API: what a client is told of a bring-up while it goes on.
namespace skiff::container::serve::own {

/// A sandbox; with `wait=ready` not before it is brought up, or `timeout_ms` is over.
[[nodiscard]] Task<Result<protocol::HttpResponse>> show(Call* call);
/// Server-sent events until it is ready or has failed.
[[nodiscard]] Task<Result<protocol::HttpResponse>> stream_events(Call* call);

}  // namespace skiff::container::serve::own
