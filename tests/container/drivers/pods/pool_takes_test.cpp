#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/in_parallel.hpp"
#include "base/clock.hpp"
#include "container/drivers/pods/driver.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

// Sandboxes from a pool, made by a server that watches it: what each of them costs the API server.
namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeRequest;
using fakes::FilledPool;
using kube::Object;
using test::once;

/// A pool, and the driver of a server in its cluster.
struct ServedPool {
  explicit ServedPool(Executor executor, unsigned size = 4)
      : pool{executor, size}, driver{pool.fake.cluster.get(), fakes::through_the_proxy()} {}
  Task<> begin() {
    (void)(co_await pool.fake.cluster->signing_key(true)).value();
    // Their agents know the key that there is now.
    for (const Object& pod : pool.fake.server.all(kube::kPods)) {
      pool.fake.server.change(kube::kPods, "default", pod.name(),
                              [](nlohmann::json& json) { json["spec"]["containers"][0].erase("env"); });
    }
    driver.keep_copies();
    co_await once([this] { return pool.fake.cluster->watched()->is_complete(); });
    // A process asks this once.
    (void)co_await pool.fake.cluster->assigns_ids();
    first = pool.fake.server.requests().size();
  }
  Task<> stop() {
    pool.fake.server.before = {};
    co_await driver.close();
    co_await pool.fake.stop();
  }
  [[nodiscard]] static SandboxSpec spec(const std::string& name) {
    SandboxSpec spec{.name = name, .owner = "ann"};
    spec.pod.pool = "p";
    spec.pod.service = ServiceKind::none;
    return spec;
  }
  /// "VERB RESOURCE" of the requests since the beginning; without successors, and without what agents were asked.
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> all;
    const auto& requests = pool.fake.server.requests();
    for (std::size_t i = first; i < requests.size(); ++i) {
      const FakeRequest& one = requests[i];
      if (one.is_watch() || one.path.contains("/proxy/") || one.is("POST", "/pods")) continue;
      all.push_back(one.method + (one.path.contains("/pods")         ? " pod"
                                  : one.path.contains("/configmaps") ? " record"
                                                                     : one.path));
    }
    return all;
  }

  FilledPool pool;
  PodDriver driver;
  std::size_t first = 0;
};

CO_TEST(PoolTakes, ASandboxCostsThreeWritesAndNoRead, ServedPool& served) {
  auto made = co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->state, SandboxState::running);
  EXPECT_EQ(served.asked(), (std::vector<std::string>{"POST record", "PATCH pod", "PATCH record"}));
  // The first request to it asks nothing, either.
  auto fresh = served.driver.freshness("box");
  EXPECT_TRUE(fresh != nullptr && fresh->holds());
  CO_ASSERT_TRUE((co_await served.driver.get_recent("box")).has_value());
  CO_ASSERT_TRUE((co_await served.driver.endpoint("box", {.scope = "read"})).has_value());
  EXPECT_EQ(served.asked().size(), 3u);
}

Task<> make_into(ServedPool* served, std::size_t index, Result<Sandbox>* made) {
  *made = co_await served->driver.create(ServedPool::spec("box-" + std::to_string(index)), fakes::ignore_progress);
}

CO_TEST(PoolTakes, ABurstTakesEachPodOnceWithoutAConflict, ServedPool& served) {
  std::vector<Result<Sandbox>> made(4, std::unexpected{Error{}});
  co_await in_parallel(made.size(), made.size(),
                       [&](std::size_t index) { return make_into(&served, index, &made[index]); });
  std::set<std::string> pods;
  for (const auto& one : made) {
    CO_ASSERT_TRUE(one.has_value()) << one.error().message;
    pods.insert(one->details.at("pod"));
  }
  EXPECT_EQ(pods.size(), made.size());
  EXPECT_EQ(served.asked().size(), 3 * made.size());
}

CO_TEST(PoolTakes, TakesAnotherPodWhenAnotherReplicaWasFaster, ServedPool& served) {
  std::set<std::string> theirs;
  served.pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH" || !request.path.contains("/pods/") || theirs.size() == 2) return std::nullopt;
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    EXPECT_TRUE(theirs.insert(name).second) << "a Pod that was refused was tried again";
    served.pool.fake.server.change(kube::kPods, "default", name, [](nlohmann::json& pod) {
      Object changed{pod};
      labels::put(changed, labels::kPoolState, "taken");
      pod = std::move(changed.json);
    });
    return std::nullopt;
  };
  auto made = co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_FALSE(theirs.contains(made->details.at("pod")));
  EXPECT_EQ(theirs.size(), 2u);
}

/// A pool, and the driver of one command.
struct CommandsPool final : ServedPool {
  explicit CommandsPool(Executor executor) : ServedPool{executor} {}
  Task<> begin() {
    (void)(co_await pool.fake.cluster->signing_key(true)).value();
    pool.fake.server.change(kube::kConfigMaps, "default", "skiff-pool-p",
                            [](nlohmann::json& record) { record["data"]["assigns_ids"] = "false"; });
    first = pool.fake.server.requests().size();
  }
  /// Without the Secret, which is read again if the test is slow.
  [[nodiscard]] std::vector<std::string> asked_of_objects() const {
    std::vector<std::string> all = asked();
    std::erase_if(all, [](const std::string& one) { return one.contains("/secrets"); });
    return all;
  }
};

CO_TEST(PoolTakes, ACommandReadsThePoolAndAPartOfItOnce, CommandsPool& command) {
  auto made = co_await command.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  co_await once([&] { return command.pool.fake.server.count("POST", "/pods") == 1; });
  EXPECT_EQ(command.asked_of_objects(),
            (std::vector<std::string>{"GET record", "POST record", "GET pod", "PATCH pod", "PATCH record"}));
  // The next command reads the record alone.
  CO_ASSERT_TRUE((co_await command.driver.endpoint("box", {.scope = "read"})).has_value());
  EXPECT_EQ(command.asked_of_objects().size(), 6u);
}

CO_TEST(PoolTakes, AServiceIsMadeOnlyForWhatNeedsIt, CommandsPool& command) {
  SandboxSpec spec = ServedPool::spec("box");
  spec.pod.service = ServiceKind::clusterip;
  spec.needs_no_service = true;
  CO_ASSERT_TRUE((co_await command.driver.create(spec, fakes::ignore_progress)).has_value());
  EXPECT_EQ(command.pool.fake.server.count("POST", "/services"), 0u);
  spec.name = "wants-one";
  spec.needs_no_service = false;
  CO_ASSERT_TRUE((co_await command.driver.create(spec, fakes::ignore_progress)).has_value());
  EXPECT_EQ(command.pool.fake.server.count("POST", "/services"), 1u);
}

CO_TEST(PoolTakes, WhereTheNamespaceAssignsIdsAManifestNamesNone, CommandsPool& command) {
  command.pool.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/namespaces/default")) return std::nullopt;
    Object home = Object::make(kube::kNamespaces, {}, "default");
    home.json["metadata"]["annotations"]["openshift.io/sa.scc.uid-range"] = "1000680000/10000";
    return FakeAnswer{.body = home.json.dump()};
  };
  auto objects = co_await command.driver.manifest(ServedPool::spec("box"), false);
  CO_ASSERT_TRUE(objects.has_value()) << objects.error().message;
  const auto pod = std::ranges::find(*objects, "Pod", [](const Object& one) { return one.text({"kind"}); });
  CO_ASSERT_TRUE(pod != objects->end());
  EXPECT_EQ(pod->find({"spec", "securityContext", "runAsUser"}), nullptr) << pod->json.dump();
}

/// The record of "box", which a process has made that was killed then, or that is slow.
PodRecord begun_record() {
  PodRecord record = fakes::sandbox_record("box", "s-box");
  record.spec.pod.pool = "p";
  record.was_up = false;
  return record;
}

CO_TEST(PoolTakes, ASandboxWhoseCreatorWasKilledAfterTheTakeIsFinished, CommandsPool& command) {
  auto& server = command.pool.fake.server;
  const PodRecord record = begun_record();
  const Object config_map = server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  auto claimed = co_await command.pool.pools.claim(record.spec, config_map);
  CO_ASSERT_TRUE(claimed && *claimed);
  const auto pods = server.all(kube::kPods).size();
  auto up = co_await command.driver.start("box", test::kReactorLimit, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  const Object noted = server.find(kube::kConfigMaps, "default", "skiff-box").value();
  EXPECT_EQ(noted.text({"data", "pod"}), (*claimed)->pod.name());
  EXPECT_EQ(noted.text({"data", "was_up"}), "true");
  EXPECT_EQ(server.all(kube::kPods).size(), pods);
  EXPECT_EQ(server.count("POST", "/v1/init"), 1u);
}

CO_TEST(PoolTakes, ASandboxWhoseCreatorWasKilledBeforeTheTakeIsBegunAnew, CommandsPool& command) {
  auto& server = command.pool.fake.server;
  server.put(kube::kConfigMaps, create_record(begun_record(), "default", "skiff-box"));
  server.change(kube::kConfigMaps, "default", "skiff-box", [](nlohmann::json& object) {
    object["metadata"]["creationTimestamp"] = rfc3339(wall_now() - std::chrono::seconds{30});
  });
  auto up = co_await command.driver.start("box", test::kReactorLimit, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_EQ(server.find(kube::kConfigMaps, "default", "skiff-box")->text({"data", "pod"}), "skiff-box");
}

CO_TEST(PoolTakes, ASlowCreatorGivesItsPodBackToOneThatHasBegunItAnew, CommandsPool& command) {
  auto& server = command.pool.fake.server;
  std::string member;
  server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (!request.path.ends_with("/v1/init")) return {.body = "{}"};
    for (const Object& pod : server.all(kube::kPods)) {
      if (pod.label(labels::kPoolState) == "taken") member = pod.name();
    }
    server.change(kube::kConfigMaps, "default", "skiff-box", [](nlohmann::json& object) {
      object["data"]["start"] = "c-another";
      object["data"]["begun_at"] = rfc3339(wall_now());
    });
    const std::string id = server.find(kube::kConfigMaps, "default", "skiff-box")->label(labels::kSandbox);
    server.put(kube::kPods, fakes::sandbox_pod("box", id));
    return {.body = "{}"};
  };
  auto made = co_await command.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->details.at("pod"), "skiff-box");
  EXPECT_NE(member, "");
  EXPECT_FALSE(server.find(kube::kPods, "default", member)) << "it has two Pods";
}

CO_TEST(PoolTakes, MembersAreMadeAgainAfterTheTakes, ServedPool& served) {
  const auto members = [&] { return served.pool.fake.server.all(kube::kPods).size(); };
  EXPECT_EQ(members(), 4u);
  bool is_held = true;
  served.pool.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (is_held && request.path.ends_with("/v1/init")) {
      is_held = false;
      EXPECT_EQ(served.pool.fake.server.count("POST", "/pods"), 0u) << "a successor is made while a take waits";
    }
    return {.body = "{}"};
  };
  CO_ASSERT_TRUE((co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress)).has_value());
  EXPECT_FALSE(is_held);
  co_await once([&] { return members() == 5; });
}

CO_TEST(PoolTakes, MoreThanThePoolHasGetColdOnesAndNobodyReadsThePoolForThem, ServedPool& served) {
  std::vector<Result<Sandbox>> made(8, std::unexpected{Error{}});
  co_await in_parallel(made.size(), made.size(),
                       [&](std::size_t index) { return make_into(&served, index, &made[index]); });
  std::size_t cold = 0;
  for (const auto& one : made) {
    CO_ASSERT_TRUE(one.has_value()) << one.error().message;
    cold += one->details.at("pod").starts_with("skiff-box-") ? 1U : 0U;
  }
  EXPECT_EQ(cold, 4u);
  const std::vector<std::string> asked = served.asked();
  EXPECT_TRUE(std::ranges::none_of(served.pool.fake.server.requests(), [](const FakeRequest& one) {
    return one.parameter("labelSelector").contains("=free");
  })) << "nobody has looked for a member";
  EXPECT_EQ(std::ranges::count(asked, "PATCH record"), 8);
}

CO_TEST(PoolTakes, ASandboxInLineCostsAListNothing, ServedPool& served) {
  auto& server = served.pool.fake.server;
  PodRecord record = begun_record();
  record.spec.owner = "ann";
  server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  server.change(kube::kConfigMaps, "default", "skiff-box",
                [](nlohmann::json& object) { object["metadata"]["creationTimestamp"] = rfc3339(wall_now()); });
  auto listed = co_await served.driver.list({.owner = "ann"});
  CO_ASSERT_TRUE(listed && listed->items.size() == 1);
  EXPECT_EQ(listed->items.front().state, SandboxState::creating);
  EXPECT_EQ(served.asked(), (std::vector<std::string>{"GET pod", "GET record"})) << "the lists alone";
}

}  // namespace
}  // namespace skiff::container
