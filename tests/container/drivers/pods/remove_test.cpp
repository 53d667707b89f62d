#include "container/drivers/pods/remove.hpp"

#include <gtest/gtest.h>

#include "container/cluster/pod/pod_wait.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
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

/// A sandbox with a Service. `known_uid`: its record knows it by that one; none: by its own.
struct Served {
  explicit Served(FakeApiServer& server, std::optional<std::string> known_uid = {}, const std::string& id = "s1") {
    kube::Object made = kube::Object::make(kube::kServices, "default", "skiff-box-svc");
    labels::put(made, labels::kSandbox, id);  // as kubectl makes it from a manifest: without an owner
    service = server.put(kube::kServices, std::move(made));
    PodRecord record = fakes::sandbox_record("box", "s1");
    record.spec.pod.service = ServiceKind::clusterip;
    record.service_uid = known_uid.value_or(service.uid());
    known = put_sandbox(server, record);
  }
  kube::Object service;
  KnownPod known;
};

std::size_t lists_of_services(const FakeCluster& fake) {
  return fake.server.count("GET", "/services");
}

CO_TEST(PodRemoval, TakesAllTheRestByItsUidAndThenTheRecord, FakeCluster& fake) {
  const Served sandbox{fake.server};
  auto removed = co_await remove_whole(&fake, &sandbox.known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
  EXPECT_TRUE(fake.server.all(kube::kServices).empty());
  const auto uid_of = [&](std::string_view path_end) {
    return FakeApiServer::text_of(fake.server.last("DELETE", path_end).body, "/preconditions/uid");
  };
  EXPECT_EQ(uid_of("/services/skiff-box-svc"), sandbox.service.uid());
  EXPECT_EQ(uid_of("/pods/skiff-box"), sandbox.known.pod->uid());
  EXPECT_EQ(uid_of("/configmaps/skiff-box"), sandbox.known.config_map->uid());
  EXPECT_TRUE(fake.server.requests().back().is("DELETE", "/configmaps/skiff-box"));
  EXPECT_EQ(fake.server.requests().size(), 3u);
}

CO_TEST(PodRemoval, LooksForAServiceThatItsRecordDoesNotKnow, FakeCluster& fake) {
  const Served sandbox{fake.server, ""};
  auto removed = co_await remove_whole(&fake, &sandbox.known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kServices).empty());
  EXPECT_EQ(lists_of_services(fake), 1u);
}

CO_TEST(PodRemoval, TakesAServiceThatWasMadeAnewAndLeavesAnothers) {
  for (const std::string id : {"s1", "s2"}) {
    FakeCluster fake{executor};
    const Served sandbox{fake.server, "uid-of-an-older-one", id};
    auto removed = co_await remove_whole(&fake, &sandbox.known);
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_EQ(fake.server.all(kube::kServices).empty(), id == "s1") << id;
    EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
    co_await fake.stop();
  }
}

CO_TEST(PodRemoval, KnowsAServiceForGoneWhoseAnswerWasLost, FakeCluster& fake) {
  const Served sandbox{fake.server};
  CO_ASSERT_TRUE((co_await find_sandbox(fake.cluster.get(), "box")).has_value());
  int lost = 0;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("DELETE", "/services/skiff-box-svc") && lost++ == 0) return FakeApiServer::lost();
    return std::nullopt;
  };
  auto removed = co_await remove_whole(&fake, &sandbox.known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.count("DELETE", "/services/skiff-box-svc"), 2u) << "the second answer is 404";
  EXPECT_EQ(lists_of_services(fake), 0u);
  EXPECT_TRUE(fake.server.all(kube::kServices).empty());
}

CO_TEST(PodRemoval, WaitsForAServiceThatACloudHolds, FakeCluster& fake) {
  const Served sandbox{fake.server};
  fake.server.change(kube::kServices, "default", "skiff-box-svc", [](nlohmann::json& object) {
    object["metadata"]["finalizers"] = {"service.kubernetes.io/load-balancer-cleanup"};
  });
  bool was_there = false;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is_watch() || !request.path.ends_with("/services")) return std::nullopt;
    was_there = fake.server.find(kube::kServices, "default", "skiff-box-svc").has_value();
    fake.server.erase(kube::kServices, "default", "skiff-box-svc");
    return std::nullopt;
  };
  auto removed = co_await remove_whole(&fake, &sandbox.known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(was_there);
}

/// A record can be written by somebody who may not delete Services.
CO_TEST(PodRemoval, LeavesAServiceOfARecordWithAnotherName, FakeCluster& fake) {
  kube::Object foreign = fake.server.put(kube::kServices, kube::Object::make(kube::kServices, "default", "web-svc"));
  PodRecord record = fakes::sandbox_record("box", "s1");
  record.spec.pod.service = ServiceKind::clusterip;
  record.service_uid = foreign.uid();
  KnownPod known{.record = record};
  known.config_map = fake.server.put(kube::kConfigMaps, create_record(record, "default", "web"));
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.find(kube::kServices, "default", "web-svc"));
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty()) << "the record itself goes";
}

CO_TEST(PodRemoval, KeepsTheRecordOfWhatItMayNotDelete, FakeCluster& fake) {
  const Served sandbox{fake.server};
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("DELETE", "/pods/skiff-box")) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "pods is forbidden: User \"ann\" cannot delete resource \"pods\"");
  };
  auto removed = co_await remove_whole(&fake, &sandbox.known);
  CO_ASSERT_TRUE(!removed);
  EXPECT_TRUE(removed.error().message.contains("cannot delete")) << removed.error().message;
  EXPECT_FALSE(fake.server.all(kube::kConfigMaps).empty()) << "it can be removed again";
}

CO_TEST(PodRemoval, TouchesNothingOfASandboxThatGotTheNameMeanwhile, FakeCluster& fake) {
  const KnownPod known = put_sandbox(fake.server, "box", "s1");
  put_sandbox(fake.server, "box", "s2");
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.find(kube::kConfigMaps, "default", "skiff-box")->label(labels::kSandbox), "s2");
  EXPECT_EQ(fake.server.find(kube::kPods, "default", "skiff-box")->label(labels::kSandbox), "s2");
}

CO_TEST(PodRemoval, TakesThePodOfARecordThatCanNotBeRead, FakeCluster& fake) {
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  fake.server.change(kube::kConfigMaps, "default", "skiff-box",
                     [](nlohmann::json& object) { object["data"]["spec"] = "{"; });
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found && found->damage);
  auto removed = co_await remove_whole(&fake, &*found);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty());
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
}

/// A record in "default" that names another namespace, with a Pod in it.
KnownPod put_at_home(FakeCluster& fake, const kube::Object& home, const std::string& id) {
  fake.server.put(kube::kNamespaces, home);
  PodRecord record = fakes::sandbox_record("box", id);
  record.namespace_name = home.name();
  KnownPod known{.record = record};
  known.config_map = fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
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

CO_TEST(PodRemoval, TakesTheWholeNamespaceOfASandboxThatHasItsOwn, FakeCluster& fake) {
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
}

CO_TEST(PodRemoval, TakesThePodThatCameAfterTheOneInTheRecord, FakeCluster& fake) {
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  known.pod.reset();
  known.record->pod_uid = "uid-of-an-older-one";
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
}

/// By somebody who may write ConfigMaps and not delete Pods: of any name, and with the uid of what is to be hit.
CO_TEST(PodRemoval, LeavesAPodThatARecordOnlyNames) {
  for (const std::string victim : {"postgres-0", "skiff-other"}) {
    for (const bool has_its_name : {false, true}) {
      FakeCluster fake{executor};
      kube::Object pod = sandbox_pod("other", "s2");
      pod.json["metadata"]["name"] = victim;
      if (victim == "postgres-0") pod.json["metadata"].erase("labels");
      const kube::Object put = fake.server.put(kube::kPods, std::move(pod));
      PodRecord record = fakes::sandbox_record("box", "s1");
      record.pod = victim;
      record.pod_uid = put.uid();
      KnownPod known{.record = record};
      known.config_map =
          fake.server.put(kube::kConfigMaps, create_record(record, "default", has_its_name ? victim : "skiff-box"));
      auto removed = co_await remove_whole(&fake, &known);
      EXPECT_TRUE(removed) << removed.error().message;
      EXPECT_EQ(fake.server.all(kube::kPods).size(), 1U) << victim;
      EXPECT_TRUE(fake.server.all(kube::kConfigMaps).empty()) << "the record itself goes";
      co_await fake.stop();
    }
  }
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

CO_TEST(PodRemoval, DoesNotWaitWhereThatIsNotWanted, FakeCluster& fake) {
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
}

CO_TEST(PodRemoval, GivesUpAfterTheTimeThatItWasGiven, FakeCluster& fake) {
  fake.server.pods_linger = true;
  const KnownPod known = put_sandbox(fake.server, "box", "s1");
  auto removed = co_await remove_whole(&fake, &known, {.patience = std::chrono::milliseconds{1}});
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().code, Errc::timeout);
  EXPECT_TRUE(removed.error().message.contains("--force")) << removed.error().message;
}

CO_TEST(PodRemoval, OfOneRunTakesThePodAlone, FakeCluster& fake) {
  const KnownPod known{.pod = fake.server.put(kube::kPods, sandbox_pod("box", "s1"))};
  auto removed = co_await remove_whole(&fake, &known);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.all(kube::kPods).empty());
}

}  // namespace
}  // namespace skiff::container
