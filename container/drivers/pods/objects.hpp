#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// All objects of a sandbox, including its record, in the order of their creation. The record belongs to the namespace
/// `home`.
[[nodiscard]] Result<std::vector<kube::Object>> create_manifest(const SandboxSpec& spec, const ManifestContext& context,
                                                                const std::string& home);

}  // namespace skiff::container
