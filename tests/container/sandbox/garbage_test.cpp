#include "container/sandbox/garbage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "container/drivers/pods/driver.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// Says what its sandboxes are, whose agents answer /v1/activity with what the test says, or not at all.
class ListingDriver final : public fakes::RefusingDriver {
 public:
  explicit ListingDriver(Executor executor)
      : executor_{executor}, agents_{executor, [this](protocol::HttpExchange& exchange) { return answer(exchange); }} {}

  Sandbox& add(const std::string& name, SandboxState state) {
    Sandbox& sandbox = now[name];
    sandbox.name = name;
    sandbox.id = "id-of-" + name;
    sandbox.state = state;
    return sandbox;
  }
  /// Runs, or is made, with a lease that was over so long ago.
  void add_late(const std::string& name, SandboxState state, seconds since) {
    add(name, state).expires_at = rfc3339(wall_now() - since);
  }

  Task<Result<SandboxPage>> list(SandboxFilter filter) override {
    asked_for = filter;
    if (list_error) co_return std::unexpected{*list_error};
    SandboxPage page;
    for (const auto& [name, sandbox] : now) page.items.push_back(sandbox);
    if (after_list) after_list();
    co_return page;
  }
  Task<Result<Sandbox>> get(std::string name) override {
    if (const auto broken = get_errors.find(name); broken != get_errors.end()) {
      co_return std::unexpected{broken->second};
    }
    const auto found = now.find(name);
    if (found == now.end()) co_return std::unexpected{no_such_sandbox(name)};
    co_return found->second;
  }
  Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override {
    if (before_remove) before_remove();
    if (remove_error) co_return std::unexpected{*remove_error};
    if (const auto broken = get_errors.find(name); broken != get_errors.end()) {
      co_return std::unexpected{broken->second};
    }
    const auto found = now.find(name);
    if (found == now.end() || found->second.id != id) co_return false;
    if (how.only_if && !how.only_if(found->second)) co_return false;
    now.erase(found);
    co_return true;
  }
  Task<Result<Endpoint>> endpoint(std::string name, TokenGrant) override {
    if (!activity.contains(name)) co_return fail(Errc::sandbox_not_running, "it does not answer");
    Endpoint endpoint{.token = [] { return "token"; }};
    endpoint.client.host = name;
    endpoint.client.dial = [this](auto limit) { return protocol::connect(agents_.address, limit, executor_); };
    co_return endpoint;
  }
  Task<> close() override { return agents_.server.stop(); }

  std::map<std::string, Sandbox> now;
  std::map<std::string, std::string> activity;  ///< what the agent answers
  std::map<std::string, Error> get_errors;
  std::optional<Error> list_error;
  std::optional<Error> remove_error;
  std::function<void()> after_list;
  std::function<void()> before_remove;
  SandboxFilter asked_for;

 private:
  Task<> answer(protocol::HttpExchange& exchange) {
    EXPECT_EQ(exchange.request().target.path, "/v1/activity");
    std::string host{exchange.request().host};
    auto sent = co_await exchange.respond(
        {.headers = {{"Content-Type", "application/json"}}, .body = activity.at(host.substr(0, host.find(':')))});
    EXPECT_TRUE(sent.has_value());
  }
  Executor executor_;
  skiff::test::TestServer agents_;
};

/// "name: why" of each.
std::vector<std::string> verdicts(const std::vector<Verdict>& all) {
  std::vector<std::string> texts;
  for (const Verdict& one : all) texts.push_back(one.name + ": " + one.reason);
  return texts;
}
std::vector<std::string> names_of_verdicts(const std::vector<Verdict>& all) {
  std::vector<std::string> names;
  for (const Verdict& one : all) names.push_back(one.name);
  return names;
}

Task<Collected> collect_from(Driver* driver, Collecting what = {}) {
  auto collected = co_await collect_garbage(driver, std::move(what));
  EXPECT_TRUE(collected) << collected.error().message;
  co_return collected ? std::move(*collected) : Collected{};
}

TEST(Collect, ASandboxHasOutlivedItsLeaseSomeTimeAfterItsEnd) {
  const WallTime now = wall_now();
  Sandbox sandbox;
  EXPECT_FALSE(has_outlived(sandbox, now));
  sandbox.expires_at = rfc3339(now + hours{1});
  EXPECT_FALSE(has_outlived(sandbox, now));
  sandbox.expires_at = rfc3339(now - seconds{30});
  EXPECT_FALSE(has_outlived(sandbox, now)) << "it may just be ending, and clocks differ";
  sandbox.expires_at = rfc3339(now - hours{1});
  EXPECT_TRUE(has_outlived(sandbox, now));
  sandbox.expires_at = "tomorrow";
  EXPECT_FALSE(has_outlived(sandbox, now));
}

CO_TEST(Collect, KeepsWhatLivesOrIsStoppedOrIsBeingMade, ListingDriver& driver) {
  driver.add("forever", SandboxState::running);
  driver.add_late("leased", SandboxState::running, -hours{1});
  driver.add("just-made", SandboxState::creating);
  driver.add_late("made-with-lease", SandboxState::creating, -hours{1});
  driver.add("stopped", SandboxState::stopped);
  driver.add_late("stopped-long-ago", SandboxState::stopped, hours{1'000});
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(verdicts(collected.kept),
              ElementsAre("forever: running", "just-made: creating", "leased: running", "made-with-lease: creating",
                          "stopped: stopped", "stopped-long-ago: stopped"));
  EXPECT_THAT(collected.removed, IsEmpty());
  EXPECT_THAT(collected.failed, IsEmpty());
  EXPECT_EQ(driver.now.size(), 6u);
}

CO_TEST(Collect, RemovesWhatHasEndedOrFailedAndSaysWhy, ListingDriver& driver) {
  driver.add("ended", SandboxState::ended).reason = "its lease is over";
  driver.add("failed", SandboxState::failed).reason = "OOMKilled";
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(verdicts(collected.removed), ElementsAre("ended: ended: its lease is over", "failed: failed: OOMKilled"));
  EXPECT_THAT(driver.now, IsEmpty());
}

CO_TEST(Collect, KeepsWhatItsHostHasBrokenUntilItsLeaseIsOver, ListingDriver& driver) {
  driver.add("drained", SandboxState::ended).was_broken = true;
  driver.add("lost", SandboxState::failed).was_broken = true;
  driver.add_late("leased", SandboxState::failed, -hours{1});
  driver.now["leased"].was_broken = true;
  driver.add("half-made", SandboxState::failed).was_broken = true;
  driver.now["half-made"].was_never_up = true;
  driver.add_late("late", SandboxState::failed, hours{1});
  driver.now["late"].was_broken = true;
  driver.now["late"].reason = "its pod was deleted";
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("drained", "leased", "lost"));
  EXPECT_THAT(names_of_verdicts(collected.removed), ElementsAre("half-made", "late"));
  EXPECT_TRUE(collected.removed[1].reason.starts_with("failed: its pod was deleted; its lease was over at "))
      << collected.removed[1].reason;
}

CO_TEST(Collect, RemovesWhatNeverCameUpWithinItsLease, ListingDriver& driver) {
  driver.add_late("late", SandboxState::creating, hours{1});
  driver.add_late("a-bit-late", SandboxState::creating, seconds{30});
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(names_of_verdicts(collected.removed), ElementsAre("late"));
  EXPECT_TRUE(collected.removed[0].reason.ends_with(", and it never came up")) << collected.removed[0].reason;
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("a-bit-late"));
}

CO_TEST(Collect, AsksTheAgentOfOneWhoseLeaseSeemsToBeOver, ListingDriver& driver) {
  driver.add_late("renewed", SandboxState::running, hours{1});
  driver.activity["renewed"] = R"({"in_use":false,"idle_ms":1000})";
  driver.add_late("silent", SandboxState::running, hours{1});
  driver.add_late("just-over", SandboxState::running, seconds{30});
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(names_of_verdicts(collected.removed), ElementsAre("silent"));
  EXPECT_TRUE(collected.removed[0].reason.ends_with(", and its agent does not answer")) << collected.removed[0].reason;
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("just-over", "renewed"));
}

CO_TEST(Collect, RemovesTheIdleOnesWhereThatIsWanted, ListingDriver& driver) {
  driver.add("busy", SandboxState::running);
  driver.activity["busy"] = R"({"in_use":true,"idle_ms":9000000})";
  driver.add("idle", SandboxState::running);
  driver.activity["idle"] = R"({"in_use":false,"idle_ms":7200000})";
  driver.add("recent", SandboxState::running);
  driver.activity["recent"] = R"({"in_use":false,"idle_ms":1000})";
  driver.add("silent", SandboxState::running);
  Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(collected.removed, IsEmpty()) << "not asked for";
  collected = co_await collect_from(&driver, {.max_idle = hours{1}});
  EXPECT_THAT(verdicts(collected.removed), ElementsAre("idle: idle for 7200 s"));
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("busy", "recent", "silent"));
}

CO_TEST(Collect, BelievesNoAgentThatSpeaksNonsense, ListingDriver& driver) {
  for (const std::string& nonsense : {"[]", "7", "{}", R"({"in_use":"no","idle_ms":99999999})", "nonsense",
                                      R"({"in_use":false,"idle_ms":"long"})", R"({"in_use":false,"idle_ms":-1})"}) {
    const std::string number = std::to_string(driver.activity.size());
    driver.add("lives-" + number, SandboxState::running);
    driver.activity["lives-" + number] = nonsense;
  }
  const std::size_t all = driver.now.size();
  driver.add_late("over", SandboxState::running, hours{1});
  driver.activity["over"] = "[]";
  const Collected collected = co_await collect_from(&driver, {.max_idle = hours{1}});
  EXPECT_EQ(collected.kept.size(), all) << "what it says proves nothing";
  EXPECT_THAT(names_of_verdicts(collected.removed), ElementsAre("over")) << "no agent answers";
}

CO_TEST(Collect, LooksAgainBeforeItRemoves, ListingDriver& driver) {
  for (const char* name : {"another", "gone", "restarted", "unseen"}) driver.add(name, SandboxState::failed);
  driver.after_list = [&] {
    driver.now["another"].id = "somebody-elses";
    driver.now.erase("gone");
    driver.now["restarted"].state = SandboxState::running;
    driver.get_errors["unseen"] = {Errc::permission_denied, "you may not look"};
  };
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(collected.removed, IsEmpty());
  EXPECT_THAT(verdicts(collected.kept), ElementsAre("restarted: running"));
  EXPECT_THAT(verdicts(collected.failed), ElementsAre("unseen: you may not look"));
  EXPECT_EQ(driver.now.size(), 3u);
}

CO_TEST(Collect, RemovesNoSuccessorThatComesAfterTheLook, ListingDriver& driver) {
  driver.add("box", SandboxState::failed);
  driver.before_remove = [&] { driver.now["box"].id = "somebody-elses"; };
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(collected.removed, IsEmpty());
  EXPECT_THAT(collected.failed, IsEmpty());
  EXPECT_TRUE(driver.now.contains("box"));
}

CO_TEST(Collect, TellsWhatItCouldNotRemoveAndGoesOn, ListingDriver& driver) {
  driver.add("one", SandboxState::failed);
  driver.add("two", SandboxState::ended);
  driver.remove_error = Error{Errc::timeout, "still there"};
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(verdicts(collected.failed), ElementsAre("one: still there", "two: still there"));
  EXPECT_THAT(collected.removed, IsEmpty());
}

CO_TEST(Collect, OnlyTellsInADryRun, ListingDriver& driver) {
  driver.add("box", SandboxState::failed).reason = "exited";
  const Collected collected = co_await collect_from(&driver, {.owner = "ann", .dry_run = true});
  EXPECT_THAT(verdicts(collected.removed), ElementsAre("box: failed: exited"));
  EXPECT_TRUE(driver.now.contains("box"));
  EXPECT_EQ(driver.asked_for.owner, "ann");
  EXPECT_GT(driver.asked_for.limit, 1'000'000u) << "all of them";
}

CO_TEST(Collect, SaysWhyItCanNotList, ListingDriver& driver) {
  driver.list_error = Error{Errc::permission_denied, "pods is forbidden"};
  auto collected = co_await collect_garbage(&driver, {});
  CO_ASSERT_TRUE(!collected);
  EXPECT_EQ(collected.error().message, "pods is forbidden");
}

// --- of a cluster ---------------------------------------------------------------------------------------------------

void fail_pod(FakeCluster& fake, const std::string& name) {
  fake.server.change(kube::kPods, "default", "skiff-" + name,
                     [](nlohmann::json& pod) { pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}}; });
}

/// Its lease was over, as its agent has written down.
void end_pod(FakeCluster& fake, const std::string& name) {
  fake.server.change(kube::kPods, "default", "skiff-" + name, [](nlohmann::json& pod) {
    const nlohmann::json ended{{"exitCode", 0}, {"message", R"({"ended_by":"lease","why":"the lease is over"})"}};
    pod["status"] = {
        {"phase", "Succeeded"},
        {"containerStatuses", nlohmann::json::array({{{"name", "sandbox"}, {"state", {{"terminated", ended}}}}})}};
  });
}

CO_TEST(Collect, OfAClusterTakesOnlyWhatSkiffMadeInThisNamespace, FakeCluster& fake) {
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  fakes::put_sandbox(fake.server, "dead", "s1");
  end_pod(fake, "dead");
  fakes::put_sandbox(fake.server, "live", "s2");
  fakes::put_sandbox(fake.server, "evicted", "s7");
  fail_pod(fake, "evicted");
  fake.server.put(kube::kPods, fakes::sandbox_pod("one-run", "s3"));
  fail_pod(fake, "one-run");
  kube::Object foreign = fakes::sandbox_pod("foreign", "s4");
  foreign.json["metadata"]["labels"][labels::kManagedBy] = "helm";
  fake.server.put(kube::kPods, foreign);
  fail_pod(fake, "foreign");
  kube::Object waiting = fakes::sandbox_pod("waiting", "s5");
  labels::put(waiting, labels::kComponent, "pool-member");
  fake.server.put(kube::kPods, waiting);
  fail_pod(fake, "waiting");
  fake.server.put(kube::kNamespaces, kube::Object::make(kube::kNamespaces, {}, "elsewhere"));
  kube::Object elsewhere = fakes::sandbox_pod("elsewhere", "s6");
  elsewhere.json["metadata"]["namespace"] = "elsewhere";
  elsewhere.json["status"] = {{"phase", "Failed"}};
  fake.server.put(kube::kPods, elsewhere);

  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(verdicts(collected.removed),
              ElementsAre("dead: ended: the lease is over", "one-run: failed: it was evicted by its node (Evicted)"));
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("evicted", "live"));
  EXPECT_FALSE(fake.server.find(kube::kConfigMaps, "default", "skiff-dead"));
  EXPECT_TRUE(fake.server.find(kube::kPods, "default", "skiff-foreign"));
  EXPECT_TRUE(fake.server.find(kube::kPods, "default", "skiff-waiting")) << "its pool sees to it";
  EXPECT_TRUE(fake.server.find(kube::kPods, "elsewhere", "skiff-elsewhere"));
  co_await driver.close();
}

CO_TEST(Collect, OfAClusterWaitsForAPodThatIsSlowToGo, FakeCluster& fake) {
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  fake.server.pods_linger = true;
  fakes::put_sandbox(fake.server, "stuck", "s1");
  end_pod(fake, "stuck");
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch()) fake.server.erase(kube::kPods, "default", "skiff-stuck");
    return std::nullopt;
  };
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(verdicts(collected.removed), ElementsAre("stuck: ended: the lease is over"));
  EXPECT_THAT(fake.server.all(kube::kPods), IsEmpty());
  EXPECT_THAT(fake.server.all(kube::kConfigMaps), IsEmpty());
  co_await driver.close();
}

CO_TEST(Collect, OfAClusterLeavesASuccessorOfTheSameName, FakeCluster& fake) {
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  fakes::put_sandbox(fake.server, "box", "s1");
  end_pod(fake, "box");
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("DELETE", "/configmaps/skiff-box")) fakes::put_sandbox(fake.server, "box", "s2");
    return std::nullopt;
  };
  (void)co_await collect_from(&driver);
  const auto successor = fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(successor.has_value());
  EXPECT_EQ(successor->label(labels::kSandbox), "s2");
  EXPECT_TRUE(fake.server.find(kube::kConfigMaps, "default", "skiff-box"));
  co_await driver.close();
}

CO_TEST(Collect, OfAClusterSparesWhatANodeTookWithIt, FakeCluster& fake) {
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  for (const std::string name : {"evicted", "gone", "leaving", "unread", "expired", "unread-expired"}) {
    fakes::put_sandbox(fake.server, name, "s-" + name);
  }
  fail_pod(fake, "evicted");
  fake.server.erase(kube::kPods, "default", "skiff-gone");
  fake.server.change(kube::kPods, "default", "skiff-leaving",
                     [](nlohmann::json& pod) { pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; });
  const auto damage = [](nlohmann::json& record) { record["data"]["spec"] = "{"; };
  const auto expire = [](nlohmann::json& record) { record["data"]["expires_at"] = "2020-01-01T00:00:00Z"; };
  fake.server.change(kube::kConfigMaps, "default", "skiff-unread", damage);
  fake.server.change(kube::kConfigMaps, "default", "skiff-unread-expired", damage);
  fake.server.change(kube::kConfigMaps, "default", "skiff-unread-expired", expire);
  fake.server.erase(kube::kPods, "default", "skiff-expired");
  fake.server.change(kube::kConfigMaps, "default", "skiff-expired", expire);
  const Collected collected = co_await collect_from(&driver);
  EXPECT_THAT(names_of_verdicts(collected.kept), ElementsAre("evicted", "gone", "leaving", "unread"));
  EXPECT_THAT(names_of_verdicts(collected.removed), ElementsAre("expired", "unread-expired"));
  EXPECT_EQ(fake.server.all(kube::kConfigMaps).size(), 4u);
  co_await driver.close();
}

CO_TEST(Collect, OfAClusterIsHeldUpByNoneThatHangs) {
  constexpr std::size_t kMany = 50;
  FakeCluster fake{executor};
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  fake.server.pods_linger = true;
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::string name = "box-" + std::to_string(i);
    fakes::put_sandbox(fake.server, name, "s-" + std::to_string(i));
    end_pod(fake, name);
  }
  const std::size_t before = fake.server.requests().size();
  std::set<std::string> deleted;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method == "DELETE" && request.path.contains("/pods/")) deleted.insert(request.path);
    // None of them ends before all are asked to.
    if (deleted.size() == kMany) {
      for (const std::string& path : deleted) {
        fake.server.erase(kube::kPods, "default", path.substr(path.rfind('/') + 1));
      }
    }
    return std::nullopt;
  };
  const Collected collected = co_await collect_from(&driver);
  EXPECT_EQ(collected.removed.size(), kMany);
  EXPECT_THAT(collected.failed, IsEmpty());
  const std::size_t asked = fake.server.requests().size() - before;
  // Record, Pod, and the two deletions of each, and where the shared watch begins; two lists, and the watch.
  EXPECT_LE(asked, 5 * kMany + 8) << "for " << kMany << " sandboxes";
  co_await driver.close();
  co_await fake.stop();
}

}  // namespace
}  // namespace skiff::container
