#include "container/cluster/pods/remove.hpp"

#include <gtest/gtest.h>

#include "container/cluster/pod_wait.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::put_sandbox;
using fakes::sandbox_pod;

/// Both parts of a removal.
Task<Result<>> remove_whole(FakeCluster* fake, const KnownPod* known, Removal how = {}) {
  SKIFF_CO_TRY(auto begun, co_await begin_removal(fake->cluster.get(), known, how, true));
  co_return co_await finish_removal(fake->cluster.get(), std::move(begun), std::move(how));
}

std::size_t watches_asked_for(const FakeCluster& fake) {
  return static_cast<std::size_t>(
      std::ranges::count_if(fake.server.requests(), [](const FakeRequest& one) { return one.is_watch(); }));
}

CO_TEST(PodRemoval, TakesTheRecordFirstAndThenAllTheRest) {
  FakeCluster fake{executor};
  PodRecord record = fakes::sandbox_record("box", "s1");
  record.spec.pod.service = ServiceKind::clusterip;
  const KnownPod known = put_sandbox(fake.server, record);
  kube::Object service = kube::Object::make(kube::kServices, "default", "skiff-box-svc");
  labels::put(service, labels::kSandbox, "s1");
  fake.server.put(kube::kServices, service);  // as kubectl makes it from a manifest: without an owner
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  EXPECT_TRUE(fake.server.all(kube::kServices).empty());
  const auto first_delete =
      std::ranges::find_if(fake.server.requests(), [](const FakeRequest& one) { return one.method == "DELETE"; });
  EXPECT_TRUE(first_delete->path.ends_with("/configmaps/skiff-box")) << first_delete->path;
  EXPECT_EQ(first_delete->body["preconditions"]["uid"], known.config_map->uid());
  co_await fake.stop();
}

CO_TEST(PodRemoval, TouchesNothingOfASandboxThatGotTheNameMeanwhile) {
  FakeCluster fake{executor};
  const KnownPod known = put_sandbox(fake.server, "box", "s1");
  put_sandbox(fake.server, "box", "s2");
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.find(kube::kConfigMaps, "default", "skiff-box")->label(labels::kSandbox), "s2");
  EXPECT_EQ(fake.server.find(kube::kPods, "default", "skiff-box")->label(labels::kSandbox), "s2");
  co_await fake.stop();
}

CO_TEST(PodRemoval, TakesThePodOfARecordThatCanNotBeRead) {
  FakeCluster fake{executor};
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  fake.server.change(kube::kConfigMaps, "default", "skiff-box",
                     [](nlohmann::json& object) { object["data"]["spec"] = "{"; });
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found && found->damage);
  auto removed = co_await remove_whole(&fake, &*found);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  co_await fake.stop();
}

/// A record in "default" that names another namespace, with a Pod in it.
KnownPod put_at_home(FakeCluster& fake, const kube::Object& home, const std::string& id) {
  fake.server.put(kube::kNamespaces, home);
  PodRecord record = fakes::sandbox_record("box", id);
  record.namespace_name = home.name();
  KnownPod known{.record = record};
  known.config_map = fake.server.put(kube::kConfigMaps, make_record(record, "default", "skiff-box"));
  kube::Object pod = sandbox_pod("box", id);
  pod.json["metadata"]["namespace"] = home.name();
  fake.server.put(kube::kPods, std::move(pod));
  return known;
}

/// A namespace that skiff made for the sandbox with that id.
kube::Object home_of(const std::string& id) {
  kube::Object home = kube::Object::make(kube::kNamespaces, {}, "skiff-box-home");
  labels::put_common(home, "namespace", "box", "ann");
  labels::put(home, labels::kSandbox, id);
  return home;
}

CO_TEST(PodRemoval, LeavesANamespaceThatIsNotTheSandboxsOwn) {
  kube::Object foreign = home_of("s1");
  foreign.json["metadata"]["labels"].erase(std::string{labels::kManagedBy});
  kube::Object copied = home_of("s1");
  copied.json["metadata"]["annotations"][kRecordOf] = "first/skiff-box";
  const kube::Object plain = kube::Object::make(kube::kNamespaces, {}, "victim");
  for (const kube::Object& home : {plain, home_of("s2"), foreign, copied}) {
    FakeCluster fake{executor};
    const KnownPod known = put_at_home(fake, home, "s1");
    auto removed = co_await remove_whole(&fake, &known, {.grace = std::chrono::seconds{1}});
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_TRUE(fake.server.find(kube::kNamespaces, {}, home.name())) << home.json;
    EXPECT_EQ(fake.server.all(kube::kPods).size(), 1u) << home.json;
    EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty()) << "the record itself goes";
    co_await fake.stop();
  }
}

CO_TEST(PodRemoval, TakesTheWholeNamespaceOfASandboxThatHasItsOwn) {
  FakeCluster fake{executor};
  kube::Object home = home_of("s1");
  home.json["metadata"]["annotations"][kRecordOf] = "default/skiff-box";
  const KnownPod known = put_at_home(fake, home, "s1");
  const std::string uid = fake.server.find(kube::kNamespaces, {}, "skiff-box-home")->uid();
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.last("DELETE", "/namespaces/skiff-box-home").body["preconditions"],
            (nlohmann::json{{"uid", uid}}));
  EXPECT_FALSE(fake.server.find(kube::kNamespaces, {}, "skiff-box-home"));
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
  co_await fake.stop();
}

CO_TEST(PodRemoval, TakesThePodThatCameAfterTheOneInTheRecord) {
  FakeCluster fake{executor};
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  known.pod.reset();
  known.record->pod_uid = "uid-of-an-older-one";
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  co_await fake.stop();
}

CO_TEST(PodRemoval, IsAsGentleAsItWasAskedToBe) {
  using namespace std::chrono_literals;
  const auto grace_after = [](FakeCluster* fake, Removal how) -> Task<nlohmann::json> {
    KnownPod known{.pod = fake->server.put(kube::kPods, sandbox_pod("box", "s1"))};
    auto removed = co_await remove_whole(fake, &known, std::move(how));
    EXPECT_TRUE(removed) << removed.error().message;
    co_return fake->server.last("DELETE", "/pods/skiff-box").body.value("gracePeriodSeconds", nlohmann::json{});
  };
  FakeCluster fake{executor};
  EXPECT_EQ(co_await grace_after(&fake, {}), nlohmann::json{});
  EXPECT_EQ(co_await grace_after(&fake, {.grace = 7s}), 7);
  EXPECT_EQ(co_await grace_after(&fake, {.grace = 0s}), 1) << "0 would not wait for the node";
  EXPECT_EQ(co_await grace_after(&fake, {.force = true}), 0);
  EXPECT_EQ(co_await grace_after(&fake, {.grace = 7s, .force = true}), 0);
  co_await fake.stop();
}

CO_TEST(PodRemoval, DoesNotWaitWhereThatIsNotWanted) {
  FakeCluster fake{executor};
  fake.server.pods_linger = true;
  PodRecord record = fakes::sandbox_record("box", "s1");
  record.spec.pod.service = ServiceKind::clusterip;
  const KnownPod known = put_sandbox(fake.server, record);
  kube::Object service = kube::Object::make(kube::kServices, "default", "skiff-box-svc");
  labels::put(service, labels::kSandbox, "s1");
  fake.server.put(kube::kServices, service);
  auto removed = co_await remove_whole(&fake, &known, {.wait = false});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.find(kube::kPods, "default", "skiff-box")->is_being_deleted());
  EXPECT_TRUE(fake.server.all(kube::kServices).empty());
  EXPECT_EQ(watches_asked_for(fake), 0u);
  co_await fake.stop();
}

CO_TEST(PodRemoval, GivesUpAfterTheTimeThatItWasGiven) {
  FakeCluster fake{executor};
  fake.server.pods_linger = true;
  const KnownPod known = put_sandbox(fake.server, "box", "s1");
  auto removed = co_await remove_whole(&fake, &known, {.patience = std::chrono::milliseconds{1}});
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().code, Errc::timeout);
  EXPECT_TRUE(removed.error().message.contains("--force")) << removed.error().message;
  co_await fake.stop();
}

CO_TEST(PodRemoval, OfOneRunTakesThePodAlone) {
  FakeCluster fake{executor};
  const KnownPod known{.pod = fake.server.put(kube::kPods, sandbox_pod("box", "s1"))};
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  co_await fake.stop();
}

}  // namespace
}  // namespace skiff::container
