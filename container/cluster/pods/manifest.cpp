#include "container/cluster/pods/manifest.hpp"

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
  auto quota = make_quota(spec, context);
  if (!quota) return std::unexpected{std::move(quota.error())};
  if (*quota) objects.push_back(std::move(**quota));
  auto policy = make_network_policy(spec, context);
  if (!policy) return std::unexpected{std::move(policy.error())};
  if (*policy) objects.push_back(std::move(**policy));
  auto claims = make_volume_claims(spec, context);
  if (!claims) return std::unexpected{std::move(claims.error())};
  for (kube::Object& claim : *claims) objects.push_back(std::move(claim));
  if (auto service = make_service(spec, context)) objects.push_back(std::move(*service));
  auto pod = make_pod(spec, context);
  if (!pod) return std::unexpected{std::move(pod.error())};
  objects.push_back(std::move(*pod));
  return objects;
}

}  // namespace skiff::container
