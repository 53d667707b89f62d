#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// What else would be known of a cluster.
struct OfflineContext {
  std::string namespace_name = "default";
  std::string name_prefix = "skiff-";
  std::string default_image = {};
  std::string agent_image = {};
  std::optional<SigningKey> key = {};  ///< whose tokens the agent accepts, in place of the namespace's own
};

/// The objects that the driver `pod` would make, without asking a cluster for anything. What only a cluster can tell is
/// left open: whether it would take them, whether the namespace assigns user ids, and without a key the agent knows
/// none. `invalid_field` for what is known to the cluster alone: pools and templates.
[[nodiscard]] Result<std::vector<kube::Object>> offline_manifest(SandboxSpec spec, const OfflineContext& context);

}  // namespace skiff::container
