#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/client.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {

/// Watches a claim or a Sandbox, as it was answered by the request that made or changed it, until its condition Ready
/// holds for that state, and gives it. Fails as soon as it is clear that it won't: what the controller says of it, or
/// what is wrong with its Pod (`sandbox_failed`, with its reason).
[[nodiscard]] Task<Result<kube::Object>> wait_for_claim(kube::Client* client, kube::Resource resource,
                                                        kube::Object object, SteadyTime deadline, Progress progress);

}  // namespace skiff::container
