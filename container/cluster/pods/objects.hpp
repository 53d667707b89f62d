#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/cluster/pod_manifest.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// All objects of a sandbox, its record too, in the order in which they are made; the record goes to `home`.
[[nodiscard]] Result<std::vector<kube::Object>> make_manifest(const SandboxSpec& spec, const ManifestContext& context,
                                                              const std::string& home);

}  // namespace skiff::container
