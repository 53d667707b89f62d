#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/drivers/pods/find.hpp"
#include "container/sandbox/sandbox.hpp"

/// Egress by name of sandboxes that are Pods: `skiff egress install` has put a proxy beside their namespace.
namespace skiff::container {

/// Checks the rules of a new sandbox, which it brings into their one form, adds the hosts of its secrets and their
/// variables, and checks that the proxy is installed: else `kEgressNotInstalled`. Does nothing for a sandbox without
/// egress by name.
[[nodiscard]] Task<Result<>> check_egress(Cluster* cluster, SandboxSpec* spec);

/// True if that proxy is installed.
[[nodiscard]] Task<bool> has_egress_proxy(Cluster* cluster);

/// The proxy's addresses, the sandbox's credential, signed by `key`, and what it needs for these secrets.
[[nodiscard]] Task<Result<EgressAccess>> egress_access(Cluster* cluster, SigningKey key, std::string sandbox_id,
                                                       std::vector<std::string> secrets);

/// Changes the rules, in the record and on the Pod. `invalid_field` for a sandbox without egress by name.
[[nodiscard]] Task<Result<EgressState>> change_egress(Cluster* cluster, KnownPod known, EgressChange change);

/// The lines about that sandbox in the logs of the proxy's Pods.
[[nodiscard]] Task<Result<std::string>> read_egress_log(Cluster* cluster, KnownPod known);

/// Passes those lines and new ones to `take`, until the sandbox is removed. Pods that the proxy gets meanwhile are
/// followed, too.
[[nodiscard]] Task<Result<>> follow_egress_log(Cluster* cluster, KnownPod known,
                                               std::function<Result<>(std::string_view lines)> take);

}  // namespace skiff::container
