#pragma once

#include "container/cluster/pod/pod_manifest.hpp"

namespace skiff::test {

/// The context of the sandbox "s-1" in the namespace "ns".
inline container::ManifestContext manifest_context() {
  container::ManifestContext context;
  context.namespace_name = "ns";
  context.sandbox_id = "s-1";
  context.public_key = "PEM";
  return context;
}

}  // namespace skiff::test
