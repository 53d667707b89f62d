#include "container/drivers/pods/offline_manifest.hpp"

#include <utility>

#include "base/id.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/labels.hpp"
#include "container/drivers/pods/objects.hpp"

namespace skiff::container {

Result<std::vector<kube::Object>> offline_manifest(SandboxSpec spec, const OfflineContext& context) {
  SKIFF_TRY_VOID(check_name(spec.name));
  if (spec.has_egress()) {
    return fail(Errc::not_supported, "a manifest cannot have the credential of egress by name: use skiff up",
                "--egress");
  }
  SKIFF_TRY_VOID(check_size(spec));
  SKIFF_TRY_VOID(labels::check_user_labels(spec.labels));
  SKIFF_TRY_VOID(check_pod_options(spec.pod));
  if (!spec.pod.pool.empty() || !spec.pod.template_name.empty()) {
    const std::string flag = spec.pod.pool.empty() ? "--template" : "--pool";
    return fail(Errc::invalid_field, flag + ": only a cluster knows it, and no cluster is contacted", flag);
  }
  SKIFF_TRY_VOID(fill_in_images(spec, context.default_image, context.agent_image));
  ManifestContext wanted{
      .namespace_name = context.namespace_name, .prefix = context.name_prefix, .sandbox_id = new_id("s")};
  if (spec.pod.namespace_per_sandbox) {
    wanted.namespace_name = create_name((context.name_prefix + spec.name).substr(0, 50) + "-");
  }
  if (context.key) {
    SKIFF_TRY(auto pem, context.key->public_pem());
    wanted.public_key = std::move(pem);
  }
  return create_manifest(spec, wanted, context.namespace_name);
}

}  // namespace skiff::container
