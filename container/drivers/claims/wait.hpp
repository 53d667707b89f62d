#pragma once

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {

/// Watches a claim or a Sandbox, from the answer to its creation or change, until its condition Ready is true for that
/// state, and returns it. Fails as soon as the controller's message or the state of its Pod shows that it will not
/// become ready (`sandbox_failed`, with its reason).
[[nodiscard]] Task<Result<kube::Object>> wait_for_claim(kube::Client* client, kube::Resource resource,
                                                        kube::Object object, SteadyTime deadline, Progress progress);

}  // namespace skiff::container
