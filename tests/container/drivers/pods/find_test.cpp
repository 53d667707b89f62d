#include "container/drivers/pods/find.hpp"

#include <chrono>
#include <cstddef>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::DrivenCluster;
using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::put_sandbox;
using nlohmann::json;

CO_TEST(PodLookup, FindsRecordAndPod, FakeCluster& fake) {
  put_sandbox(fake.server, "box", "s1");
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found && found->record && found->pod);
  const Sandbox sandbox = describe_known(*found);
  EXPECT_EQ(sandbox.state, SandboxState::running);
  EXPECT_EQ(sandbox.id, "s1");
  EXPECT_EQ(sandbox.details.at("pod_ip"), "10.0.0.7");
}

CO_TEST(PodLookup, DoesNotAskForThePodOfOneThatIsStopped, FakeCluster& fake) {
  PodRecord record = fakes::sandbox_record("box", "s1");
  record.stopped = true;
  put_sandbox(fake.server, record);
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found.has_value());
  EXPECT_EQ(describe_known(*found).state, SandboxState::stopped);
  EXPECT_EQ(fake.server.count("GET", "/pods/skiff-box"), 0u);
}

CO_TEST(PodLookup, TakesAPodWithoutARecordForOneRun, FakeCluster& fake) {
  fake.server.put(kube::kPods, fakes::sandbox_pod("box", "s1"));
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found && found->pod);
  EXPECT_FALSE(found->record);
  EXPECT_EQ(describe_known(*found).owner, "ann");
}

CO_TEST(PodLookup, PassesOverWhatOthersHaveCalledSo, FakeCluster& fake) {
  fake.server.put(kube::kConfigMaps, kube::Object::make(kube::kConfigMaps, "default", "skiff-box"));
  kube::Object pod = fakes::sandbox_pod("box", "s1");
  pod.json["metadata"]["labels"].erase(std::string{labels::kManagedBy});
  fake.server.put(kube::kPods, pod);
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_found);
  // A Pod that waits in a pool has such a name too.
  pod = fakes::sandbox_pod("box", "s1");
  labels::put(pod, labels::kComponent, "pool-member");
  fake.server.put(kube::kPods, pod);
  found = co_await find_sandbox(fake.cluster.get(), "box");
  EXPECT_FALSE(found);
}

CO_TEST(PodLookup, LooksAgainWhenItWasStoppedBetweenTheTwoLooks, FakeCluster& fake) {
  put_sandbox(fake.server, "box", "s1");
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("GET", "/pods/skiff-box")) {
      fake.server.change(kube::kConfigMaps, "default", "skiff-box",
                         [](json& record) { record["data"]["stopped"] = "true"; });
      fake.server.erase(kube::kPods, "default", "skiff-box");
    }
    return std::nullopt;
  };
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found.has_value());
  EXPECT_EQ(describe_known(*found).state, SandboxState::stopped) << "it has not failed";
}

CO_TEST(PodLookup, SaysThatAPodIsGoneOnceTheRecordStayedTheSame, FakeCluster& fake) {
  put_sandbox(fake.server, "box", "s1");
  fake.server.erase(kube::kPods, "default", "skiff-box");
  auto found = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(found.has_value());
  EXPECT_EQ(describe_known(*found).state, SandboxState::failed);
  EXPECT_EQ(describe_known(*found).reason, "its pod was deleted: by a drain of its node, or by somebody");
  EXPECT_EQ(fake.server.count("GET", "/pods/skiff-box"), 2u);
}

CO_TEST(PodLookup, SaysWhyItCanNotLook, FakeCluster& fake) {
  put_sandbox(fake.server, "box", "s1");
  for (const std::string path : {"/configmaps/skiff-box", "/pods/skiff-box"}) {
    fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
      if (!request.is("GET", path)) return std::nullopt;
      return fakes::FakeApiServer::refusal(500, "InternalError", "etcd is ill");
    };
    auto found = co_await find_sandbox(fake.cluster.get(), "box");
    CO_ASSERT_TRUE(!found);
    EXPECT_EQ(found.error().code, Errc::io_error);
    EXPECT_TRUE(found.error().message.contains("etcd is ill")) << found.error().message;
  }
  auto bad = co_await find_sandbox(fake.cluster.get(), "No/Name");
  EXPECT_EQ(bad.error().code, Errc::invalid_field);
}

CO_TEST(PodLookup, TakesNoNonsenseForASandbox, FakeCluster& fake) {
  for (const std::string body : {"nonsense", "[]", "{", "null", R"({"kind":"Pod"})", R"({"metadata":[1]})"}) {
    fake.server.before = [&](const FakeRequest&) { return FakeAnswer{.body = body}; };
    auto found = co_await find_sandbox(fake.cluster.get(), "box");
    EXPECT_FALSE(found) << body;
  }
}

CO_TEST(PodLookup, ChangesNoRecordThatTookThePlaceOfItsOwn, FakeCluster& fake) {
  const KnownPod known = put_sandbox(fake.server, "box", "s1");
  put_sandbox(fake.server, "box", "s2");
  auto changed = co_await change_record(fake.cluster.get(), &known, {{"stopped", "true"}});
  CO_ASSERT_TRUE(!changed);
  EXPECT_EQ(changed.error().code, Errc::precondition_failed);
  EXPECT_EQ(fake.server.find(kube::kConfigMaps, "default", "skiff-box")->text({"data", "stopped"}), "false");
}

/// Lets somebody else write into the record before each of the first `times` patches.
void write_between(FakeCluster& fake, int times, const std::function<void(json& record)>& edit) {
  fake.server.before = [&fake, times, edit, done = 0](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (request.method == "PATCH" && done++ < times) {
      fake.server.change(kube::kConfigMaps, "default", "skiff-box", edit);
    }
    return std::nullopt;
  };
}

CO_TEST(PodLookup, ChangesASpecWithoutUndoingWhatOthersHaveChangedMeanwhile, FakeCluster& fake) {
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  write_between(fake, 1, [](json& record) {
    json spec = json::parse(record["data"]["spec"].get<std::string>());
    spec["image"] = "theirs";
    record["data"]["spec"] = spec.dump();
  });
  auto changed = co_await change_spec(fake.cluster.get(), std::move(known), [](PodRecord& record) {
    record.spec.lease.ttl = std::chrono::hours{1};
    record.expires_at = "2027-01-01T00:00:00Z";
  });
  CO_ASSERT_TRUE(changed.has_value()) << changed.error().message;
  auto now = co_await find_sandbox(fake.cluster.get(), "box");
  CO_ASSERT_TRUE(now && now->record);
  EXPECT_EQ(now->record->spec.image, "theirs");
  EXPECT_EQ(now->record->spec.lease.ttl, std::chrono::hours{1});
  EXPECT_EQ(now->record->expires_at, "2027-01-01T00:00:00Z");
}

CO_TEST(PodLookup, GivesUpChangingWhatIsChangedAgainAndAgain, FakeCluster& fake) {
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  write_between(fake, 1'000, [](json& record) { record["data"]["other"] = "x"; });
  auto changed = co_await change_spec(fake.cluster.get(), std::move(known), [](PodRecord&) {});
  CO_ASSERT_TRUE(!changed);
  EXPECT_EQ(changed.error().code, Errc::timeout);
  EXPECT_EQ(fake.server.count("PATCH", "/configmaps/skiff-box"), 20u);
}

CO_TEST(PodLookup, ChangesNoSpecOfARecordThatIsGoneOrAnothers, FakeCluster& fake) {
  KnownPod known = put_sandbox(fake.server, "box", "s1");
  KnownPod same = known;
  put_sandbox(fake.server, "box", "s2");
  auto changed = co_await change_spec(fake.cluster.get(), std::move(known), [](PodRecord&) {});
  CO_ASSERT_TRUE(!changed);
  EXPECT_EQ(changed.error().code, Errc::sandbox_not_found);
  write_between(fake, 1, [](json& record) { record["data"]["other"] = "x"; });
  fake.server.erase(kube::kConfigMaps, "default", "skiff-box");
  fake.server.before = {};
  changed = co_await change_spec(fake.cluster.get(), std::move(same), [](PodRecord&) {});
  CO_ASSERT_TRUE(!changed);
  EXPECT_EQ(changed.error().code, Errc::not_found);
}

std::vector<std::string> names_and_states(const SandboxPage& page) {
  std::vector<std::string> all;
  for (const Sandbox& one : page.items) all.push_back(one.name + " " + std::string{state_word(one.state)});
  return all;
}

CO_TEST(PodLookup, ListsWhatHasARecordAPodOrBoth, FakeCluster& fake) {
  put_sandbox(fake.server, "both", "s1");
  PodRecord stopped = fakes::sandbox_record("stopped", "s2");
  stopped.stopped = true;
  put_sandbox(fake.server, stopped);
  fake.server.put(kube::kPods, fakes::sandbox_pod("run", "s3"));
  put_sandbox(fake.server, "damaged", "s4");
  fake.server.change(kube::kConfigMaps, "default", "skiff-damaged", [](json& record) { record["data"] = {}; });
  kube::Object others = kube::Object::make(kube::kConfigMaps, "default", "others");
  fake.server.put(kube::kConfigMaps, others);
  auto page = co_await list_sandboxes(fake.cluster.get(), {});
  CO_ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_THAT(names_and_states(*page),
              testing::ElementsAre("both running", "damaged failed", "run running", "stopped stopped"));
  SandboxFilter filter{.state = SandboxState::running, .limit = 1};
  page = co_await list_sandboxes(fake.cluster.get(), filter);
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("both running"));
  EXPECT_EQ(page->next, "both");
  filter.cursor = page->next;
  page = co_await list_sandboxes(fake.cluster.get(), filter);
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("run running"));
  EXPECT_EQ(page->next, "");
}

CO_TEST(PodLookup, MissesNoPodThatIsMadeWhileItLists, FakeCluster& fake) {
  PodRecord record = fakes::sandbox_record("box", "s1");
  fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/pods")) return std::nullopt;
    // The list is of a moment before its Pod.
    fake.server.put(kube::kPods, fakes::sandbox_pod("box", "s1"));
    return FakeAnswer{.body = R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]})"};
  };
  auto page = co_await list_sandboxes(fake.cluster.get(), {});
  CO_ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("box running"));
}

CO_TEST(PodLookup, ListsCopiesWithoutAskingTheServer, FakeCluster& fake) {
  put_sandbox(fake.server, "box", "s1");
  // Without copies the server is asked.
  auto page = co_await list_sandboxes(fake.cluster.get(), {.reads_copies = true});
  CO_ASSERT_TRUE(page.has_value());
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("box running"));
  fake.cluster->watch_objects();
  co_await fake.cluster->watched()->await_first(std::chrono::steady_clock::now() + std::chrono::seconds{10});
  std::size_t lists = 0;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is_watch()) ++lists;
    return std::nullopt;
  };
  page = co_await list_sandboxes(fake.cluster.get(), {.reads_copies = true});
  fake.server.before = {};
  co_await fake.cluster->close();
  CO_ASSERT_TRUE(page.has_value());
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("box running"));
  EXPECT_EQ(lists, 0u);
}

CO_TEST(PodLookup, ListsThoseOfOneOwnerAndLabel, FakeCluster& fake) {
  put_sandbox(fake.server, "anns", "s1");
  PodRecord bobs = fakes::sandbox_record("bobs", "s2");
  bobs.spec.owner = "bob";
  bobs.spec.labels = {{"team", "x"}};
  fake.server.put(kube::kConfigMaps, create_record(bobs, "default", "skiff-bobs"));
  auto page = co_await list_sandboxes(fake.cluster.get(), {.owner = "bob"});
  CO_ASSERT_TRUE(page.has_value());
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("bobs failed"));
  page = co_await list_sandboxes(fake.cluster.get(), {.labels = {{"team", "y"}}});
  EXPECT_TRUE(page->items.empty());
}

CO_TEST(PodLookup, ListsOnesWhosePodItMayNotSeeAsTheyWereLast, FakeCluster& fake) {
  fake.server.put(kube::kNamespaces, kube::Object::make(kube::kNamespaces, {}, "home"));
  PodRecord record = fakes::sandbox_record("box", "s1");
  record.namespace_name = "home";
  fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.path.contains("/namespaces/home/")) return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "pods is forbidden");
  };
  auto page = co_await list_sandboxes(fake.cluster.get(), {});
  CO_ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_THAT(names_and_states(*page), testing::ElementsAre("box running"));
  EXPECT_TRUE(page->items.front().reason.contains("pods is forbidden"));
}

CO_TEST(PodLookup, GoesOnWithAListOfManyPagesThatExpires, FakeCluster& fake) {
  for (int i = 0; i < 450; ++i) {
    fake.server.put(kube::kPods, fakes::sandbox_pod("run-" + std::to_string(i), "s" + std::to_string(i)));
  }
  fake.server.before = [&, asked = 0](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (request.is("GET", "/pods") && ++asked == 2) fake.server.forget_history();
    return std::nullopt;
  };
  auto page = co_await list_sandboxes(fake.cluster.get(), {.limit = 1'000});
  CO_ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_EQ(page->items.size(), 450u);
  EXPECT_EQ(fake.server.count("GET", "/pods"), 4u) << "three pages, one of them again";
}

/// A sandbox whose record is sealed, and the requests since then that read the record or a Pod.
struct SealedSandbox final : DrivenCluster {
  using DrivenCluster::DrivenCluster;
  Task<> begin() {
    co_await DrivenCluster::begin();
    KnownPod known = fakes::put_sandbox(fake.server, "box", "s1");
    (void)(co_await note_up(fake.cluster.get(), &known, std::nullopt)).value();
    first = fake.server.requests().size();
  }
  [[nodiscard]] std::vector<std::string> reads() const {
    std::vector<std::string> all;
    for (std::size_t i = first; i < fake.server.requests().size(); ++i) {
      const FakeRequest& one = fake.server.requests()[i];
      if (!one.path.contains("/proxy/") && !one.path.contains("/secrets")) all.push_back(one.method + " " + one.path);
    }
    return all;
  }
  void change_record(const std::function<void(json& data)>& change) {
    fake.server.change(kube::kConfigMaps, "default", "skiff-box", [&](json& object) { change(object["data"]); });
  }

  std::size_t first = 0;
};

const std::string kRecordRead = "GET /api/v1/namespaces/default/configmaps/skiff-box";
const std::string kPodRead = "GET /api/v1/namespaces/default/pods/skiff-box";

CO_TEST(SealedEndpoint, ReadsNoPod, SealedSandbox& on) {
  std::string path;
  on.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    path = request.path;
    return {.body = "{}"};
  };
  auto endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_EQ(on.reads(), std::vector{kRecordRead});
  EXPECT_EQ(path, "/healthz");
}

CO_TEST(SealedEndpoint, ReadsThePodWhereTheRecordWasChangedByWhoHasNoKey, SealedSandbox& on) {
  on.fake.server.put(kube::kPods, fakes::sandbox_pod("theirs", "s2"));
  on.change_record([](json& data) { data["pod"] = "skiff-theirs"; });
  auto endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(!endpoint) << "it leads into another sandbox";
  EXPECT_EQ(on.fake.server.count("GET", "/pods/skiff-theirs"), 2u) << "read, and read again, and refused";
}

CO_TEST(SealedEndpoint, IsRefusedWhileTheSandboxIsStoppedOrStarting, SealedSandbox& on) {
  on.change_record([](json& data) { data["stopped"] = "true"; });
  auto endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::sandbox_not_running);
  on.change_record([](json& data) {
    data["stopped"] = "false";
    data["was_up"] = "false";
  });
  endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_EQ(on.fake.server.count("GET", "/pods/skiff-box"), 1u);
}

CO_TEST(SealedEndpoint, SaysWhatHasBecomeOfAPodThatDoesNotAnswer, SealedSandbox& on) {
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  on.fake.server.agent = fakes::silent_agent;
  auto endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::sandbox_not_running);
  EXPECT_TRUE(endpoint.error().message.contains("its pod was deleted")) << endpoint.error().message;
}

CO_TEST(SealedEndpoint, SaysWhyAnAgentDoesNotAnswerWhosePodRuns, SealedSandbox& on) {
  on.fake.server.agent = fakes::silent_agent;
  auto endpoint = co_await on.driver.endpoint("box", {.scope = "read"});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_TRUE(endpoint.error().message.contains("does not answer")) << endpoint.error().message;
  EXPECT_EQ(on.reads(), (std::vector{kRecordRead, kRecordRead, kPodRead}));
}

}  // namespace
}  // namespace skiff::container
