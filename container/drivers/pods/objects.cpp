#include "container/drivers/pods/objects.hpp"

#include <optional>
#include <utility>

#include "container/cluster/pod/network_policies.hpp"
#include "container/drivers/pods/record.hpp"

namespace skiff::container {

Result<std::vector<kube::Object>> create_manifest(const SandboxSpec& spec, const ManifestContext& context,
                                                  const std::string& home) {
  const PodRecord record{.spec = spec,
                         .id = context.sandbox_id,
                         .namespace_name = context.namespace_name,
                         .pod = context.prefix + spec.name};
  std::vector<kube::Object> objects{create_record(record, home, record.pod)};
  if (spec.pod.namespace_per_sandbox) objects.push_back(create_namespace(spec, context));
  SKIFF_TRY(auto quota, create_quota(spec, context));
  if (quota) objects.push_back(std::move(*quota));
  SKIFF_TRY(auto policies, create_network_policies(spec, context));
  for (kube::Object& policy : policies) objects.push_back(std::move(policy));
  SKIFF_TRY(auto claims, create_volume_claims(spec, context));
  for (kube::Object& claim : claims) objects.push_back(std::move(claim));
  if (auto service = create_service(spec, context)) objects.push_back(std::move(*service));
  SKIFF_TRY(auto pod, create_pod(spec, context));
  objects.push_back(std::move(pod));
  return objects;
}

}  // namespace skiff::container
