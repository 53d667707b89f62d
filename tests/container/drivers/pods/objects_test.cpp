#include "container/drivers/pods/objects.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(Manifest, HasTheRecordFirstAndTheNamespaceBeforeWhatIsInIt) {
  const ManifestContext context{.namespace_name = "ns", .sandbox_id = "s1", .public_key = "PEM"};
  SandboxSpec spec{.name = "box", .image = "busybox", .owner = "ann"};
  spec.pod.agent_image = "skiffd:1";
  spec.pod.namespace_per_sandbox = true;
  spec.pod.quota = {"limits.cpu=4", "pods=10"};
  const auto all = create_manifest(spec, context, "home").value();
  std::vector<std::string> kinds;
  for (const kube::Object& object : all) kinds.push_back(object.text({"kind"}));
  EXPECT_EQ(kinds, (std::vector<std::string>{"ConfigMap", "Namespace", "ResourceQuota", "Service", "Pod"}));
  EXPECT_EQ(all.front().namespace_name(), "home");
  EXPECT_EQ(all.back().namespace_name(), "ns");
}

}  // namespace
}  // namespace skiff::container
