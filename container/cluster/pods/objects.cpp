#include "container/cluster/pods/objects.hpp"

#include <optional>
#include <utility>

#include "container/cluster/pods/record.hpp"

namespace skiff::container {

Result<std::vector<kube::Object>> make_manifest(const SandboxSpec& spec, const ManifestContext& context,
                                                const std::string& home) {
  const PodRecord record{.spec = spec,
                         .id = context.sandbox_id,
                         .namespace_name = context.namespace_name,
                         .pod = context.prefix + spec.name};
  std::vector<kube::Object> objects{make_record(record, home, record.pod)};
  if (spec.pod.namespace_per_sandbox) objects.push_back(make_namespace(spec, context));
  SKIFF_TRY(auto quota, make_quota(spec, context));
  if (quota) objects.push_back(std::move(*quota));
  SKIFF_TRY(auto policy, make_network_policy(spec, context));
  if (policy) objects.push_back(std::move(*policy));
  SKIFF_TRY(auto claims, make_volume_claims(spec, context));
  for (kube::Object& claim : claims) objects.push_back(std::move(claim));
  if (auto service = make_service(spec, context)) objects.push_back(std::move(*service));
  SKIFF_TRY(auto pod, make_pod(spec, context));
  objects.push_back(std::move(pod));
  return objects;
}

}  // namespace skiff::container
