#include "container/cluster/namespaces.hpp"

#include <set>
#include <string_view>
#include <utility>

#include "container/cluster/labels.hpp"
#include "container/drivers/claims/pools.hpp"

namespace skiff::container {

Task<Result<std::vector<std::string>>> namespaces_of_sandboxes(Cluster* cluster, ClusterDriver driver) {
  std::vector<std::pair<kube::Resource, std::string_view>> places{{kube::kConfigMaps, "record"},
                                                                  {kube::kPods, "sandbox"}};
  if (driver == ClusterDriver::claim) {
    ClaimPools pools{cluster};
    SKIFF_CO_TRY(auto api, co_await pools.api());
    places = {{at(kube::kSandboxClaims, api), "sandbox"}, {at(kube::kSandboxes, api), "sandbox"}};
  }
  std::set<std::string> names;
  for (const auto& [resource, component] : places) {
    const auto note = [&names](const std::vector<kube::Object>& items, bool) {
      for (const kube::Object& object : items) names.insert(object.namespace_name());
    };
    kube::ListOptions options{.label_selector = labels::selector(component, {})};
    auto listed = co_await cluster->client().each_page(resource, {}, std::move(options), note);
    // The extensions of agent-sandbox may be missing.
    if (!listed && !listed.error().not_found()) co_return std::unexpected{std::move(listed.error())};
  }
  co_return std::vector<std::string>{names.begin(), names.end()};
}

}  // namespace skiff::container
