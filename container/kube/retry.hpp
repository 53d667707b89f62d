#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "container/kube/objects/status.hpp"
#include "container/net/backoff.hpp"

namespace skiff::kube {

/// Returns the time to wait before a failed request is sent again, or nullopt to give up. A request that the server
/// refused before it did anything (429 with Retry-After, no connection) may always be sent again; one that may have
/// taken effect only if it is `repeatable`: a repetition changes nothing. `until` as in Backoff::next.
[[nodiscard]] std::optional<std::chrono::milliseconds> wait_before_retry(net::Backoff& backoff, const Failure& failure,
                                                                         bool repeatable, SteadyTime until = {});

}  // namespace skiff::kube
