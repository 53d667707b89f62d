#include "container/cli/in_namespace.hpp"

#include "container/cluster/namespaces.hpp"

namespace skiff::container {

Task<Result<std::vector<std::string>>> namespaces_in_use(Context* context) {
  auto cluster = context->cluster();
  if (!cluster) co_return std::unexpected{std::move(cluster.error())};
  const bool of_claims = context->options().driver == "claim";
  co_return co_await namespaces_of_sandboxes(*cluster, of_claims ? ClusterDriver::claim : ClusterDriver::pod);
}

}  // namespace skiff::container
