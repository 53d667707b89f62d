#pragma once

#include "container/serve/route.hpp"

/// Routes of the server's own API that report the progress of a bring-up.
namespace skiff::container::serve::own {

/// Answers with a sandbox; with `wait=ready` when it is up, or when `timeout_ms` is over.
[[nodiscard]] Task<Result<protocol::HttpResponse>> show(Call* call);
/// Sends server-sent events until the sandbox is ready or has failed.
[[nodiscard]] Task<Result<protocol::HttpResponse>> stream_events(Call* call);

}  // namespace skiff::container::serve::own
