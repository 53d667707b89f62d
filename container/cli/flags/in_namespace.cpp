#include "container/cli/flags/in_namespace.hpp"

#include "container/cluster/namespaces.hpp"

namespace skiff::container {

Task<Result<std::vector<std::string>>> namespaces_in_use(Context* context) {
  SKIFF_CO_TRY(auto cluster, context->cluster());
  const bool of_claims = context->options().driver == "claim";
  co_return co_await namespaces_of_sandboxes(cluster, of_claims ? ClusterDriver::claim : ClusterDriver::pod);
}

}  // namespace skiff::container
