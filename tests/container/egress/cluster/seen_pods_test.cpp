#include "container/egress/cluster/seen_pods.hpp"

#include <string>

#include <gtest/gtest.h>

#include "container/cluster/egress/objects.hpp"

namespace skiff::container::egress {
namespace {

kube::Object pod(const std::string& name, const std::string& address) {
  return {
      {{"metadata",
        {{"name", name},
         {"uid", "u-" + name},
         {"labels", {{"skiff.dev/network", "egress"}, {"skiff.dev/sandbox", "s-" + name}, {"skiff.dev/name", name}}},
         {"annotations", {{"skiff.dev/egress", R"(["pypi.org"])"}}}}},
       {"spec", {{"hostNetwork", false}}},
       {"status", {{"phase", "Running"}, {"podIP", address}}}}};
}

TEST(SeenPod, IsReadFromItsObject) {
  auto object = pod("one", "10.244.0.5");
  object.json["status"]["podIPs"] = {{{"ip", "10.244.0.5"}}, {{"ip", "fd00:0::5"}}};
  object.json["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
  const SeenPod seen = SeenPod::of(object);
  EXPECT_EQ(seen.addresses, (std::vector<std::string>{"10.244.0.5", "fd00::5"}));
  EXPECT_TRUE(seen.is_fenced);
  EXPECT_TRUE(seen.is_ready);
  EXPECT_EQ(seen.id, "s-one");
  EXPECT_EQ(seen.policy, R"(["pypi.org"])");
}

TEST(SeenPod, NoMoreIsKeptOfAnAnnotationThanIsRead) {
  auto object = pod("one", "10.244.0.5");
  for (const char* const name : {"skiff.dev/egress", "skiff.dev/egress-secrets"}) {
    object.json["metadata"]["annotations"][name] = std::string(kLargestEgressPolicy * 10, '[');
  }
  const SeenPod seen = SeenPod::of(object);
  EXPECT_EQ(seen.policy.size(), kLargestEgressPolicy + 1) << "so it is too long, and not another one";
  EXPECT_EQ(seen.secrets.size(), kLargestEgressPolicy + 1);
}

TEST(SeenPod, IsServedInItsOwnNetworkAndUntilItsEndAlone) {
  const auto with = [](const nlohmann::json& change) {
    auto object = pod("one", "10.244.0.5");
    object.json.merge_patch(change);
    return SeenPod::of(object);
  };
  EXPECT_FALSE(with({{"spec", {{"hostNetwork", true}}}}).is_fenced);
  EXPECT_FALSE(with({{"metadata", {{"deletionTimestamp", "2026-11-28T00:00:00Z"}}}}).is_fenced);
  EXPECT_FALSE(with({{"metadata", {{"labels", {{"skiff.dev/network", "own"}}}}}}).is_fenced);
  EXPECT_FALSE(with({{"metadata", {{"labels", {{"skiff.dev/sandbox", nullptr}}}}}}).is_fenced);
  const SeenPod over = with({{"status", {{"phase", "Succeeded"}}}});
  EXPECT_FALSE(over.is_fenced);
  EXPECT_TRUE(over.addresses.empty()) << "another Pod may have them now";
}

TEST(SeenPods, AnAddressIsThatOfOnePodOrOfNone) {
  SeenPods pods;
  EXPECT_EQ(pods.at("10.244.0.5"), nullptr);
  pods.put(SeenPod::of(pod("one", "10.244.0.5")));
  ASSERT_NE(pods.at("10.244.0.5"), nullptr);
  EXPECT_EQ(pods.at("10.244.0.5")->name, "one");
  pods.put(SeenPod::of(pod("two", "10.244.0.5")));
  EXPECT_EQ(pods.at("10.244.0.5"), nullptr) << "two have it";
  pods.erase("one");
  ASSERT_NE(pods.at("10.244.0.5"), nullptr);
  EXPECT_EQ(pods.at("10.244.0.5")->name, "two");
  pods.put(SeenPod::of(pod("two", "10.244.0.6")));
  EXPECT_EQ(pods.at("10.244.0.5"), nullptr);
  EXPECT_EQ(pods.names(), (std::set<std::string>{"two"}));
}

}  // namespace
}  // namespace skiff::container::egress
