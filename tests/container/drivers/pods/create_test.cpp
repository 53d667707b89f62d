#include "container/drivers/pods/create.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/drivers/pods/driver.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::plain_spec;
using nlohmann::json;

/// Refuses requests of that kind, but for the trial that comes before a creation.
void refuse(FakeCluster& fake, std::string method, std::string path_end, FakeAnswer answer) {
  fake.server.before = [=](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is(method, path_end) || request.is_dry_run()) return std::nullopt;
    return answer;
  };
}

FakeAnswer quota_exceeded() {
  return FakeApiServer::refusal(
      403, "Forbidden", "pods \"skiff-box\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1");
}

Task<Result<Sandbox>> create_box(FakeCluster* fake, SandboxSpec spec = plain_spec("box")) {
  PodDriver driver{fake->cluster.get(), fakes::through_the_proxy()};
  auto made = co_await driver.create(std::move(spec), fakes::ignore_progress);
  co_await driver.close();
  co_return made;
}

/// Only the signing key is left, which all sandboxes share.
void expect_nothing_left(const FakeCluster& fake) {
  EXPECT_THAT(fake.server.all(kube::kConfigMaps), testing::IsEmpty());
  EXPECT_THAT(fake.server.all(kube::kPods), testing::IsEmpty());
  EXPECT_THAT(fake.server.all(kube::kServices), testing::IsEmpty());
}

CO_TEST(PodCreation, MakesTheRecordThatOwnsAllTheRest, FakeCluster& fake) {
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->state, SandboxState::running);
  const auto record = fake.server.find(kube::kConfigMaps, "default", "skiff-box");
  CO_ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->text({"data", "was_up"}), "true");
  for (const auto& [resource, name] : {std::pair{kube::kPods, "skiff-box"}, {kube::kServices, "skiff-box-svc"}}) {
    const auto object = fake.server.find(resource, "default", name);
    CO_ASSERT_TRUE(object.has_value()) << name;
    EXPECT_EQ(object->json["metadata"]["ownerReferences"][0]["uid"], record->uid());
    EXPECT_EQ(object->label(labels::kSandbox), made->id);
  }
}

CO_TEST(PodCreation, LeavesTheSandboxThatHasTheName, FakeCluster& fake) {
  fakes::put_sandbox(fake.server, "box", "s1");
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::sandbox_conflict);
  EXPECT_EQ(made.error().message, "there is a sandbox \"box\" already");
  EXPECT_EQ(fake.server.find(kube::kConfigMaps, "default", "skiff-box")->label(labels::kSandbox), "s1");
  EXPECT_EQ(fake.server.find(kube::kPods, "default", "skiff-box")->label(labels::kSandbox), "s1");
  EXPECT_FALSE(fake.server.find(kube::kServices, "default", "skiff-box-svc"));
}

CO_TEST(PodCreation, IsRefusedByATrialBeforeAnythingIsMade) {
  struct Case {
    FakeAnswer answer;
    std::optional<FailureReason> reason;
    Errc code;
  };
  const std::vector<Case> cases{
      {quota_exceeded(), FailureReason::quota, Errc::quota_exceeded},
      {FakeApiServer::refusal(403, "Forbidden", "failed quota: few: must specify limits.memory for: a"),
       FailureReason::quota, Errc::quota_exceeded},
      {FakeApiServer::refusal(403, "Forbidden", "violates PodSecurity \"restricted:latest\": ..."),
       FailureReason::admission, Errc::sandbox_failed},
      {FakeApiServer::refusal(400, "BadRequest", "admission webhook \"x\" denied the request"),
       FailureReason::admission, Errc::sandbox_failed},
      {FakeApiServer::refusal(403, "Forbidden", "User \"ann\" cannot create resource \"pods\""), std::nullopt,
       Errc::permission_denied},
      {FakeApiServer::refusal(422, "Invalid", "Pod is invalid",
                              json::array({{{"reason", "FieldValueInvalid"}, {"field", "spec.x"}}})),
       std::nullopt, Errc::invalid_field},
  };
  for (const Case& one : cases) {
    FakeCluster fake{executor};
    fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
      if (!request.is_dry_run()) return std::nullopt;
      return one.answer;
    };
    auto made = co_await create_box(&fake);
    CO_ASSERT_TRUE(!made) << one.answer.body;
    EXPECT_EQ(made.error().code, one.code) << one.answer.body;
    EXPECT_EQ(failure_reason(made.error()), one.reason) << one.answer.body;
    expect_nothing_left(fake);
    EXPECT_EQ(fake.server.count("POST", "/configmaps"), 0u);
    co_await fake.stop();
  }
}

CO_TEST(PodCreation, TakesBackWhatWasMadeBeforeAFailure) {
  const std::vector<std::pair<std::string, std::string>> steps{{"POST", "/secrets"},
                                                               {"POST", "/services"},
                                                               {"POST", "/pods"},
                                                               {"GET", "/pods"},
                                                               {"PATCH", "/configmaps/skiff-box"}};
  for (const auto& [method, path_end] : steps) {
    FakeCluster fake{executor};
    refuse(fake, method, path_end, FakeApiServer::refusal(403, "Forbidden", "User \"ann\" cannot do it"));
    auto made = co_await create_box(&fake);
    CO_ASSERT_TRUE(!made) << method << path_end;
    EXPECT_EQ(made.error().code, Errc::permission_denied) << made.error().message;
    expect_nothing_left(fake);
    co_await fake.stop();
  }
}

CO_TEST(PodCreation, SaysWhenItCouldNotTakeItBack, FakeCluster& fake) {
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("POST", "/pods") && !request.is_dry_run()) return quota_exceeded();
    if (request.method != "DELETE") return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "User \"ann\" cannot delete it");
  };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(failure_reason(made.error()), FailureReason::quota);
  EXPECT_TRUE(made.error().message.contains("; and it could not be cleaned up: delete configmaps"))
      << made.error().message;
}

CO_TEST(PodCreation, InsistsOnTakingItBackWhileTheControlPlaneIsAway, FakeCluster& fake) {
  fake.cluster = fake.open(executor, 1000);
  fake.server.before = [away = 0](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (request.is("POST", "/pods") && !request.is_dry_run()) return quota_exceeded();
    if (request.method != "DELETE" || ++away > 20) return std::nullopt;
    return FakeApiServer::refusal(500, "", "etcdserver: leader changed");
  };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(failure_reason(made.error()), FailureReason::quota);
  EXPECT_FALSE(made.error().message.contains("cleaned up")) << made.error().message;
  expect_nothing_left(fake);
}

CO_TEST(PodCreation, ComesThroughAnElectionOfTheControlPlane, FakeCluster& fake) {
  fake.cluster = fake.open(executor, 1000);
  // Each request is answered so the first ten times: nothing is lost but time.
  fake.server.before =
      [tries = std::map<std::string, int>{}](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    int& tried = tries[request.method + request.path + (request.is_dry_run() ? "?" : "")];
    if (request.path.contains("/proxy/") || ++tried > 10) return std::nullopt;
    FakeAnswer election = FakeApiServer::refusal(500, "", "etcdserver: request timed out");
    // The last of them had its effect.
    election.is_carried_out = tried == 10 && request.method != "GET";
    return election;
  };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->state, SandboxState::running);
  EXPECT_EQ(fake.server.all(kube::kPods).size(), 1u);
}

CO_TEST(PodCreation, FindsWhatALostAnswerHasMade) {
  for (const std::string path_end : {"/configmaps", "/services", "/pods", "/secrets"}) {
    FakeCluster fake{executor};
    refuse(fake, "POST", path_end, FakeApiServer::lost());
    auto made = co_await create_box(&fake);
    CO_ASSERT_TRUE(made.has_value()) << path_end << ": " << made.error().message;
    EXPECT_EQ(made->state, SandboxState::running);
    EXPECT_EQ(fake.server.all(kube::kPods).size(), 1u);
    co_await fake.stop();
  }
}

CO_TEST(PodCreation, SendsAgainWhatWasLostOnItsWay) {
  for (const std::string path_end : {"/configmaps", "/services", "/pods"}) {
    FakeCluster fake{executor};
    fake.server.before = [&, lost = false](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
      if (!request.is("POST", path_end) || request.is_dry_run() || lost) return std::nullopt;
      lost = true;
      return FakeAnswer{.is_cut = true};
    };
    auto made = co_await create_box(&fake);
    CO_ASSERT_TRUE(made.has_value()) << path_end << ": " << made.error().message;
    EXPECT_EQ(made->state, SandboxState::running);
    co_await fake.stop();
  }
}

CO_TEST(PodCreation, WaitsForRoomUntilItsTimeIsOverAndSaysThatItIsBeingMade) {
  for (const char* reason : {"TriggeredScaleUp", "Nominated"}) {
    FakeCluster fake{executor};
    fake.server.runs_pods = false;
    fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
      if (!request.is_watch()) return std::nullopt;
      fake.server.change(kube::kPods, "default", "skiff-box", [](json& pod) {
        pod["status"] = {{"phase", "Pending"},
                         {"conditions", json::array({{{"type", "PodScheduled"},
                                                      {"status", "False"},
                                                      {"reason", "Unschedulable"},
                                                      {"message", "0/1 nodes"}}})}};
      });
      kube::Object event = kube::Object::make(kube::kEvents, "default", "e");
      event.json["involvedObject"]["uid"] = fake.server.find(kube::kPods, "default", "skiff-box")->uid();
      event.json["reason"] = reason;
      fake.server.put(kube::kEvents, event);
      return std::nullopt;
    };
    SandboxSpec spec = plain_spec("box");
    spec.wait = std::chrono::milliseconds{300};
    auto made = co_await create_box(&fake, spec);
    CO_ASSERT_TRUE(!made);
    EXPECT_EQ(failure_reason(made.error()), FailureReason::unschedulable);
    EXPECT_TRUE(made.error().message.contains("the cluster is adding a node for it (" + std::string{reason} + ")"))
        << made.error().message;
    expect_nothing_left(fake);
    co_await fake.stop();
  }
}

CO_TEST(PodCreation, AsksThatItsNodeIsNotTakenAway, FakeCluster& fake) {
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto pod = fake.server.find(kube::kPods, "default", "skiff-box");
  EXPECT_EQ(pod->annotation("cluster-autoscaler.kubernetes.io/safe-to-evict"), "false");
  EXPECT_EQ(pod->annotation("karpenter.sh/do-not-disrupt"), "true");
  // To a drain it is a Pod that nothing makes again.
  EXPECT_FALSE(pod->json["metadata"]["ownerReferences"][0].contains("controller"));
}

CO_TEST(PodCreation, SaysInItsNamespaceWhichRecordItBelongsTo, FakeCluster& fake) {
  SandboxSpec spec = plain_spec("box");
  spec.pod.namespace_per_sandbox = true;
  auto made = co_await create_box(&fake, spec);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto home = fake.server.find(kube::kNamespaces, {}, made->details.at("namespace"));
  CO_ASSERT_TRUE(home.has_value());
  EXPECT_EQ(home->annotation("skiff.dev/record"), "default/skiff-box");
}

CO_TEST(PodCreation, TakesNoPodForItsOwnThatSomebodyElseCalledSo, FakeCluster& fake) {
  fake.server.put(kube::kPods, kube::Object::make(kube::kPods, "default", "skiff-box"));
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::already_exists) << made.error().message;
  EXPECT_TRUE(fake.server.find(kube::kPods, "default", "skiff-box")) << "it is not ours to remove";
  EXPECT_THAT(fake.server.all(kube::kConfigMaps), testing::IsEmpty());
}

CO_TEST(PodCreation, SendsAgainWhatTheServerWasTooBusyFor, FakeCluster& fake) {
  fake.server.before = [busy = 0](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (!request.is("POST", "/configmaps") || busy++ > 0) return std::nullopt;
    return FakeAnswer{.status = 429, .body = "too many requests", .headers = {{"Retry-After", "0"}}};
  };
  auto made = co_await create_box(&fake);
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_EQ(fake.server.count("POST", "/configmaps"), 2u);
}

CO_TEST(PodCreation, GivesUpAtOnceWhenTheImageCanNotBeHad, FakeCluster& fake) {
  fake.server.runs_pods = false;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is_watch()) return std::nullopt;
    fake.server.change(kube::kPods, "default", "skiff-box", [](json& pod) {
      pod["status"] = {
          {"phase", "Pending"},
          {"containerStatuses",
           json::array({{{"name", "sandbox"},
                         {"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}}}}})}};
    });
    return std::nullopt;
  };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(failure_reason(made.error()), FailureReason::image_pull);
  EXPECT_TRUE(made.error().message.contains("ImagePullBackOff: no such image")) << made.error().message;
  expect_nothing_left(fake);
}

CO_TEST(PodCreation, SaysThatItsPodWasDeletedUnderItsHands, FakeCluster& fake) {
  fake.server.runs_pods = false;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch()) fake.server.erase(kube::kPods, "default", "skiff-box");
    return std::nullopt;
  };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(failure_reason(made.error()), FailureReason::exited);
  EXPECT_TRUE(made.error().message.ends_with("skiff-box was deleted meanwhile")) << made.error().message;
  expect_nothing_left(fake);
}

CO_TEST(PodCreation, TakesBackASandboxWhoseAgentDoesNotAnswer, FakeCluster& fake) {
  fake.server.agent = [](const FakeRequest&) { return FakeAnswer{.status = 503, .body = "no endpoints"}; };
  auto made = co_await create_box(&fake);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(failure_reason(made.error()), FailureReason::not_ready);
  EXPECT_TRUE(made.error().message.contains("503")) << made.error().message;
  expect_nothing_left(fake);
}

CO_TEST(PodCreation, OfOneRunIsAPodAndNothingElse, FakeCluster& fake) {
  SandboxSpec spec = plain_spec("box");
  spec.is_one_shot = true;
  spec.pod.service = ServiceKind::none;
  spec.lease.ttl = std::chrono::hours{1};
  auto made = co_await create_box(&fake, spec);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_THAT(fake.server.all(kube::kConfigMaps), testing::IsEmpty());
  EXPECT_THAT(fake.server.all(kube::kServices), testing::IsEmpty());
  EXPECT_TRUE(made->expires_at);
  spec.pod.network = "cidr=10.0.0.0/8";
  spec.name = "other";
  made = co_await create_box(&fake, spec);
  CO_ASSERT_TRUE(!made) << "nobody would own its policy";
  EXPECT_EQ(made.error().field, "--keep");
}

CO_TEST(PodCreation, AsksNothingOfTheClusterForWhatIsWrongAnyway, FakeCluster& fake) {
  SandboxSpec spec = plain_spec("No_Name");
  EXPECT_EQ((co_await create_box(&fake, spec)).error().code, Errc::invalid_field);
  spec = plain_spec("box");
  spec.labels = {{"a bad name", "x"}};
  EXPECT_EQ((co_await create_box(&fake, spec)).error().field, "--label");
  spec = plain_spec("box");
  spec.pod.memory = "lots";
  EXPECT_EQ((co_await create_box(&fake, spec)).error().field, "--memory");
  spec = plain_spec("box");
  spec.pod.template_name = "py";
  EXPECT_EQ((co_await create_box(&fake, spec)).error().field, "--template");
  EXPECT_TRUE(fake.server.requests().empty());
}

}  // namespace
}  // namespace skiff::container
