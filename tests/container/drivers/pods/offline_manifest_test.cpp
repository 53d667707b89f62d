#include "container/drivers/pods/offline_manifest.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

SandboxSpec offline_box() {
  SandboxSpec spec{.name = "box", .owner = "ann"};
  spec.pod.agent_image = "registry.test/skiffd";
  return spec;
}

const kube::Object* find_kind(const std::vector<kube::Object>& objects, std::string_view kind) {
  const auto found = std::ranges::find_if(objects, [&](const kube::Object& one) { return one.text({"kind"}) == kind; });
  return found == objects.end() ? nullptr : &*found;
}

TEST(OfflineManifest, HasWhatThePodDriverMakes) {
  const auto made = offline_manifest(offline_box(), {.namespace_name = "there", .default_image = "some:1"});
  ASSERT_TRUE(made) << made.error().message;
  const kube::Object* pod = find_kind(*made, "Pod");
  ASSERT_TRUE(pod != nullptr && find_kind(*made, "ConfigMap") != nullptr);
  EXPECT_EQ(pod->namespace_name(), "there");
  EXPECT_EQ(pod->name(), "skiff-box");
  EXPECT_EQ(pod->json["spec"]["containers"][0]["image"], "some:1");
  EXPECT_EQ(pod->json.dump().find("BEGIN PUBLIC KEY"), std::string::npos);
}

TEST(OfflineManifest, HasThePublicHalfOfAKeyThatIsGiven) {
  auto key = SigningKey::generate();
  ASSERT_TRUE(key);
  const auto made = offline_manifest(offline_box(), {.default_image = "some:1", .key = *key});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(find_kind(*made, "Pod")->json.dump().find("BEGIN PUBLIC KEY"), std::string::npos);
}

TEST(OfflineManifest, RefusesWhatOnlyAClusterKnowsOrWhatIsWrong) {
  const auto refused = [](auto change) {
    SandboxSpec spec = offline_box();
    change(spec);
    const auto made = offline_manifest(std::move(spec), {.default_image = "some:1"});
    return made ? std::string{} : made.error().message;
  };
  EXPECT_TRUE(refused([](SandboxSpec& spec) { spec.pod.pool = "warm"; }).starts_with("--pool"));
  EXPECT_TRUE(refused([](SandboxSpec& spec) { spec.pod.template_name = "py"; }).starts_with("--template"));
  EXPECT_NE(refused([](SandboxSpec& spec) { spec.name = "Box"; }).find("not a name"), std::string::npos);
  EXPECT_NE(refused([](SandboxSpec& spec) { spec.pod.agent_image = ""; }).find("no agent image"), std::string::npos);
  EXPECT_FALSE(refused([](SandboxSpec& spec) { spec.pod.network = "magic"; }).empty());
}

}  // namespace
}  // namespace skiff::container
