// Pools against a real API server. There is no node here: the test says of each Pod that it is ready, as a kubelet
// would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/async/in_parallel.hpp"
#include "base/async/task_group.hpp"
#include "container/cluster/labels.hpp"
#include "container/drivers/pods/pools.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/kube/watch.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr kube::Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};

/// One client of the cluster, as a `skiff` process has it.
struct Launcher {
  Launcher(Executor executor, const std::string& ns) : cluster{open(executor, ns)} {}

  static std::unique_ptr<Cluster> open(Executor executor, const std::string& ns) {
    ClusterOptions options;
    options.access.kubeconfig = test::cluster().kubeconfig();
    options.access.context = "admin";
    options.access.namespace_name = ns;
    options.agent_image = "registry.test/skiffd:1";
    return Cluster::open(executor, std::move(options)).value();
  }

  std::unique_ptr<Cluster> cluster;
  Reach reach{cluster.get(), {}};
  PodPools pools{cluster.get(), &reach};
};

/// A fresh namespace in which Pods can be made.
Task<std::string> namespace_for_pods(kube::Client* client) {
  std::string ns = co_await test::create_namespace(client);
  kube::Watch accounts{client, {.resource = kServiceAccounts, .namespace_name = ns}};
  for (bool is_there = false; !is_there;) {
    auto event = co_await accounts.next();
    if (!event) {
      ADD_FAILURE() << event.error().error.message;
      break;
    }
    for (const Object& account : event->objects) is_there = is_there || account.name() == "default";
  }
  co_return ns;
}

Task<> say_ready(kube::Client* client, Object pod) {
  const json status{{"phase", "Running"},
                    {"podIP", "10.0.0.1"},
                    {"podIPs", json::array({{{"ip", "10.0.0.1"}}})},
                    {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}};
  // A Pod that is gone meanwhile needs no status.
  (void)co_await client->patch(kube::kPods, pod.namespace_name(), pod.name(), kube::PatchKind::merge,
                               {{"status", status}}, "status");
}

/// Says of every Pod that it is ready, until it is cancelled.
Task<> play_kubelet(kube::Client* client, std::string ns) {
  kube::Watch watch{client, {.namespace_name = std::move(ns)}};
  for (;;) {
    auto event = co_await watch.next();
    if (!event) co_return;
    if (event->kind == kube::WatchEvent::Kind::deleted) continue;
    for (const Object& pod : event->objects) {
      if (!kube::is_pod_ready(pod) && !pod.is_being_deleted()) co_await say_ready(client, pod);
    }
  }
}

/// A kubelet for the length of a test.
struct Kubelet {
  Kubelet(Executor executor, kube::Client* client, std::string ns) : tasks{executor} {
    tasks.spawn("kubelet", play_kubelet(client, std::move(ns)));
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
  }
  TaskGroup tasks;
};

PoolSpec pool(unsigned size) {
  PoolSpec wanted{.name = "python", .size = size};
  wanted.sandbox.image = "python:3.12-slim";
  wanted.sandbox.owner = "ops@example.org";
  wanted.sandbox.wait = std::chrono::seconds{20};
  return wanted;
}

SandboxSpec sandbox(const std::string& name) {
  SandboxSpec spec{.name = name, .owner = "ann"};
  spec.pod.pool = "python";
  return spec;
}

const Progress kQuiet = [](Phase, std::string_view) {};

Task<std::vector<Object>> pods_of(kube::Client* client, std::string ns) {
  auto page = co_await client->list(kube::kPods, std::move(ns));
  if (!page) ADD_FAILURE() << page.error().error.message;
  co_return page ? std::move(page->items) : std::vector<Object>{};
}

Task<> live_of_a_pool(Executor executor) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string ns = co_await namespace_for_pods(&admin);
  Launcher skiff{executor, ns};
  Kubelet kubelet{executor, &admin, ns};
  auto status = co_await skiff.pools.create(pool(2), kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->available, 2u);
  auto twice = co_await skiff.pools.create(pool(2), kQuiet);
  EXPECT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().code, Errc::already_exists);

  // The sandbox's record owns what it takes; what it takes isn't the pool's any more.
  Object record = test::config_map(ns, "skiff-box", "a");
  auto made = co_await admin.create(kube::kConfigMaps, std::move(record));
  CO_ASSERT_TRUE(made.has_value());
  auto taken = co_await skiff.pools.claim(sandbox("box"), *made);
  CO_ASSERT_TRUE(taken.has_value() && *taken) << (taken ? "none was ready" : taken.error().message);
  EXPECT_EQ((*taken)->pod.json["metadata"]["ownerReferences"][0]["uid"], made->uid());
  EXPECT_EQ(labels::get((*taken)->pod, labels::kOwner), "ann");
  status = co_await skiff.pools.status("python");
  CO_ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->available, 1u);
  EXPECT_EQ(status->active, 1u);
  EXPECT_EQ(status->total, 2u);
  EXPECT_EQ(status->target, 2u);

  status = co_await skiff.pools.scale("python", 4, std::chrono::seconds{20}, kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->available, 4u);
  status = co_await skiff.pools.scale("python", 0, std::chrono::seconds{20}, kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->available, 0u);
  EXPECT_EQ(status->active, 1u) << "less never takes what is in use";
  auto none = co_await skiff.pools.claim(sandbox("other"), std::nullopt);
  CO_ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value()) << "there is none to be had, which is not an error";

  status = co_await skiff.pools.scale("python", 2, std::chrono::seconds{20}, kQuiet);
  CO_ASSERT_TRUE(status.has_value());
  auto all = co_await skiff.pools.list();
  CO_ASSERT_TRUE(all.has_value() && all->size() == 1);
  EXPECT_EQ(all->front().available, 2u);
  auto removed = co_await skiff.pools.remove("python");
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(*removed);
  const std::vector<Object> left = co_await pods_of(&admin, ns);
  CO_ASSERT_TRUE(left.size() == 1) << "what was taken stays, and nothing else";
  EXPECT_EQ(left.front().name(), (*taken)->pod.name());
  removed = co_await skiff.pools.remove("python");
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
  auto gone = co_await skiff.pools.status("python");
  EXPECT_EQ(gone.error().code, Errc::not_found);
  // And goes with its own record.
  auto without = co_await admin.remove(kube::kConfigMaps, ns, "skiff-box");
  CO_ASSERT_TRUE(without.has_value());
  kube::Watch watch{&admin, {.namespace_name = ns}};
  for (bool is_there = true; is_there;) {
    auto event = co_await watch.next();
    CO_ASSERT_TRUE(event.has_value());
    is_there = event->kind != kube::WatchEvent::Kind::deleted && !event->objects.empty();
  }
  co_await kubelet.stop();
}

/// The Pods that several clients have got that claim at the same time.
struct Race {
  std::vector<Launcher*> clients;
  std::multiset<std::string> won;
  std::size_t lost = 0;

  Task<> run(std::size_t index) {
    auto got =
        co_await clients[index % clients.size()]->pools.claim(sandbox("box-" + std::to_string(index)), std::nullopt);
    if (!got) ADD_FAILURE() << got.error().message;
    if (got && *got) {
      won.insert((*got)->pod.name());
    } else {
      ++lost;
    }
  }
};

Task<> race_for_the_last(Executor executor) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string ns = co_await namespace_for_pods(&admin);
  Launcher one{executor, ns};
  Launcher two{executor, ns};
  Kubelet kubelet{executor, &admin, ns};
  auto status = co_await one.pools.create(pool(1), kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  Race race{.clients = {&one, &two}, .won = {}};
  co_await in_parallel(2, 2, [&race](std::size_t index) { return race.run(index); });
  EXPECT_EQ(race.won.size(), 1u);
  EXPECT_EQ(race.lost, 1u);

  // Twelve of them for five: five get one each, and no two the same.
  status = co_await one.pools.scale("python", 5, std::chrono::seconds{20}, kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  race.won.clear();
  co_await in_parallel(12, 12, [&race](std::size_t index) { return race.run(index); });
  EXPECT_EQ(race.won.size(), 5u);
  EXPECT_EQ((std::set<std::string>{race.won.begin(), race.won.end()}.size()), 5u);
  co_await kubelet.stop();
}

Task<> fill_from_everywhere(Executor executor) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string ns = co_await namespace_for_pods(&admin);
  Launcher one{executor, ns};
  Launcher two{executor, ns};
  Launcher three{executor, ns};
  Kubelet kubelet{executor, &admin, ns};
  auto status = co_await one.pools.create(pool(1), kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  // The record says 6, and nobody has done anything for it yet.
  auto patched = co_await admin.patch(kube::kConfigMaps, ns, "skiff-pool-python", kube::PatchKind::merge,
                                      {{"data", {{"size", "6"}}}});
  CO_ASSERT_TRUE(patched.has_value());
  const std::vector<Launcher*> clients{&one, &two, &three};
  const auto fill = [](Launcher* client) -> Task<> {
    auto filled = co_await client->pools.fill("python");
    EXPECT_TRUE(filled.has_value()) << (filled ? "" : filled.error().message);
  };
  co_await in_parallel(6, 6, [&](std::size_t index) { return fill(clients[index % clients.size()]); });
  std::vector<Object> pods = co_await pods_of(&admin, ns);
  EXPECT_EQ(pods.size(), 6u) << "too many, or too few";

  // Two who want different sizes at once: one of them is the last, and all Pods are as he wants it.
  const auto scale = [](Launcher* client, unsigned size) -> Task<> {
    auto scaled = co_await client->pools.scale("python", size, std::chrono::seconds{20}, kQuiet);
    EXPECT_TRUE(scaled.has_value()) << (scaled ? "" : scaled.error().message);
  };
  co_await in_parallel(2, 2, [&](std::size_t index) { return scale(clients[index], index == 0 ? 2 : 9); });
  status = co_await three.pools.fill("python");
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_TRUE(status->target == 2 || status->target == 9);
  status = co_await three.pools.status("python");
  EXPECT_EQ(status->total, status->target);
  co_await kubelet.stop();
}

Task<> fail_early_and_leave_nothing(Executor executor) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string ns = co_await namespace_for_pods(&admin);
  Launcher skiff{executor, ns};
  Object quota = Object::make(kube::kResourceQuotas, ns, "small");
  quota.json["spec"]["hard"]["pods"] = "1";
  auto limited = co_await admin.create(kube::kResourceQuotas, std::move(quota));
  CO_ASSERT_TRUE(limited.has_value());
  // The quota counts only once its controller has looked at it.
  kube::Watch quotas{&admin, {.resource = kube::kResourceQuotas, .namespace_name = ns}};
  for (bool counts = false; !counts;) {
    auto event = co_await quotas.next();
    CO_ASSERT_TRUE(event.has_value());
    for (const Object& one : event->objects) counts = counts || one.find({"status", "used", "pods"}) != nullptr;
  }
  auto made = co_await skiff.pools.create(pool(3), kQuiet);
  CO_ASSERT_TRUE(!made.has_value()) << "the quota lets one in";
  EXPECT_NE(made.error().message.find("exceeded quota"), std::string::npos) << made.error().message;
  const std::vector<Object> left = co_await pods_of(&admin, ns);
  EXPECT_TRUE(left.empty()) << left.front().name();
  auto status = co_await skiff.pools.status("python");
  EXPECT_FALSE(status.has_value());
}

Task<> tell_nothing_to_what_can_not_be_limited(Executor executor) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string ns = co_await namespace_for_pods(&admin);
  Launcher skiff{executor, ns};
  Kubelet kubelet{executor, &admin, ns};
  auto status = co_await skiff.pools.create(pool(1), kQuiet);
  CO_ASSERT_TRUE(status.has_value()) << status.error().message;
  Object record = test::config_map(ns, "skiff-box", "a");
  auto made = co_await admin.create(kube::kConfigMaps, std::move(record));
  CO_ASSERT_TRUE(made.has_value());
  const std::vector<Object> waiting = co_await pods_of(&admin, ns);
  CO_ASSERT_TRUE(waiting.size() == 1);
  std::vector<std::string> limited;
  // There is no agent: had it been asked, that would be the error.
  auto refuse = [&limited](std::string id) -> Task<Result<>> {
    limited.push_back(std::move(id));
    co_return fail(Errc::permission_denied, "no policies");
  };
  auto taken = co_await skiff.pools.take(sandbox("box"), *made, refuse);
  CO_ASSERT_TRUE(!taken.has_value());
  EXPECT_EQ(taken.error().message, "no policies");
  EXPECT_THAT(limited, testing::ElementsAre(labels::get(waiting.front(), labels::kSandbox)));
  auto gone = co_await admin.get(kube::kPods, ns, waiting.front().name());
  EXPECT_TRUE(!gone || gone->is_being_deleted() || gone->uid() != waiting.front().uid());
  co_await skiff.pools.close();
  co_await kubelet.stop();
}

constexpr std::chrono::seconds kLimit{60};

TEST(PodPools, AreFilledScaledTakenFromAndRemoved) {
  skiff::test::run_on_reactor(live_of_a_pool, kLimit);
}

TEST(PodPools, GiveEachPodToOneClientOnly) {
  skiff::test::run_on_reactor(race_for_the_last, kLimit);
}

TEST(PodPools, AreNeitherTooFullNorTooEmptyWhoeverFillsThemAtOnce) {
  skiff::test::run_on_reactor(fill_from_everywhere, kLimit);
}

TEST(PodPools, TellNothingToASandboxThatCanNotBeLimited) {
  skiff::test::run_on_reactor(tell_nothing_to_what_can_not_be_limited, kLimit);
}

TEST(PodPools, SayWhyTheyCanNotBeFilledAndAreGoneThen) {
  skiff::test::run_on_reactor(fail_early_and_leave_nothing, kLimit);
}

}  // namespace
}  // namespace skiff::container
