#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// The values that would otherwise come from a cluster.
struct OfflineContext {
  std::string namespace_name = "default";
  std::string name_prefix = "skiff-";
  std::string default_image = {};
  std::string agent_image = {};
  std::optional<SigningKey> key = {};  ///< key that replaces the namespace's
};

/// The objects that the driver `pod` would create, without a request to a cluster. It remains unknown whether the
/// cluster would accept them, and whether the namespace assigns user ids. Without a key the agent knows none.
/// `invalid_field` for pools and templates, which only the cluster knows.
[[nodiscard]] Result<std::vector<kube::Object>> offline_manifest(SandboxSpec spec, const OfflineContext& context);

}  // namespace skiff::container
