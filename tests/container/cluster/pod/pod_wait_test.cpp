#include "container/cluster/pod/pod_wait.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

const json kScheduled = {{"type", "PodScheduled"}, {"status", "True"}};

kube::Object pod(json status) {
  kube::Object object = kube::Object::make(kube::kPods, "a", "b");
  object.json["status"] = std::move(status);
  return object;
}

kube::Object pod_with(json container_state, const char* list = "containerStatuses") {
  json one{{"name", "sandbox"}, {"state", std::move(container_state)}};
  json status{{"phase", "Pending"}, {"conditions", json::array({kScheduled})}};
  status[list] = json::array({std::move(one)});
  return pod(std::move(status));
}

kube::Object waiting(const char* reason) {
  return pod_with({{"waiting", {{"reason", reason}, {"message", "because"}}}});
}

TEST(PodWait, APodGoesFromScheduledToReady) {
  EXPECT_EQ(judge_pod(pod({{"phase", "Pending"}})).phase, Phase::scheduling);
  const auto pulling = judge_pod(waiting("ContainerCreating"));
  EXPECT_EQ(pulling.phase, Phase::pulling);
  EXPECT_EQ(pulling.detail, "ContainerCreating");
  EXPECT_FALSE(pulling.failure);
  EXPECT_EQ(judge_pod(pod_with({{"running", json::object()}})).phase, Phase::starting);
  const json ready{{"type", "Ready"}, {"status", "True"}};
  EXPECT_EQ(judge_pod(pod({{"phase", "Running"}, {"conditions", json::array({ready})}})).phase, Phase::ready);
}

TEST(PodWait, AnImageThatCannotBeHadIsFinalOnceItWasTriedAgain) {
  EXPECT_EQ(judge_pod(waiting("ImagePullBackOff")).failure, FailureReason::image_pull);
  EXPECT_TRUE(judge_pod(waiting("ImagePullBackOff")).is_final);
  EXPECT_EQ(judge_pod(waiting("ErrImagePull")).failure, FailureReason::image_pull);
  EXPECT_FALSE(judge_pod(waiting("ErrImagePull")).is_final);
  EXPECT_EQ(judge_pod(waiting("InvalidImageName")).failure, FailureReason::image_pull);
  EXPECT_EQ(judge_pod(waiting("CreateContainerConfigError")).failure, FailureReason::admission);
}

TEST(PodWait, AnImageThatIsNotThereIsHardlyEverThereLater) {
  const auto verdict = [](const char* message) {
    return judge_pod(pod_with({{"waiting", {{"reason", "ErrImagePull"}, {"message", message}}}}));
  };
  for (const char* message :
       {"failed to resolve reference \"a/b:1\": a/b:1: not found", "dial tcp: lookup registry.invalid: no such host",
        "dial tcp: lookup a.b on 127.0.0.1:53: refused", "401 Unauthorized: unauthorized",
        "pull access denied, repository does not exist", "unexpected status: 403 Forbidden"}) {
    EXPECT_TRUE(verdict(message).is_hopeless) << message;
    EXPECT_FALSE(verdict(message).is_final) << message;
  }
  EXPECT_FALSE(verdict("dial tcp 10.0.0.1:443: i/o timeout").is_hopeless);
  EXPECT_FALSE(verdict("503 Service Unavailable").is_hopeless);
}

TEST(PodWait, AFullClusterMayStillMakeRoom) {
  const json full{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", "0/1 nodes"}};
  const auto verdict = judge_pod(pod({{"phase", "Pending"}, {"conditions", json::array({full})}}));
  EXPECT_EQ(verdict.failure, FailureReason::unschedulable);
  EXPECT_FALSE(verdict.is_final);
  EXPECT_EQ(verdict.detail, "no node takes it: 0/1 nodes");
}

TEST(PodWait, WhatEndedSaysHow) {
  const auto killed = judge_pod(pod_with({{"terminated", {{"reason", "OOMKilled"}, {"exitCode", 137}}}}));
  EXPECT_EQ(killed.failure, FailureReason::out_of_memory);
  const auto ended = judge_pod(pod_with({{"terminated", {{"reason", "Error"}, {"exitCode", 3}, {"message", "no"}}}}));
  EXPECT_EQ(ended.failure, FailureReason::exited);
  EXPECT_EQ(ended.detail, "its main process ended with status 3: no");
  const auto looping = judge_pod(waiting("CrashLoopBackOff"));
  EXPECT_EQ(looping.failure, FailureReason::crash_loop);
}

TEST(PodWait, WhatIsStartedAgainFailsWhenItEndsTheSecondTime) {
  const auto ended = [](const char* policy, int status, int restarts) {
    kube::Object object = pod_with({{"terminated", {{"reason", "Error"}, {"exitCode", status}}}});
    object.json["spec"]["restartPolicy"] = policy;
    object.json["status"]["containerStatuses"][0]["restartCount"] = restarts;
    return judge_pod(object);
  };
  EXPECT_FALSE(ended("Always", 3, 0).failure);
  EXPECT_EQ(ended("Always", 3, 0).phase, Phase::starting);
  EXPECT_EQ(ended("Always", 3, 1).failure, FailureReason::crash_loop);
  EXPECT_EQ(ended("Always", 3, 1).detail, "its main process ended with status 3, again and again");
  EXPECT_FALSE(ended("OnFailure", 3, 0).failure);
  EXPECT_EQ(ended("OnFailure", 0, 0).failure, FailureReason::exited);
  EXPECT_EQ(ended("Never", 3, 0).failure, FailureReason::exited);
}

TEST(PodWait, AnInitContainerThatIsDoneIsNoFailure) {
  const json done{{"terminated", {{"reason", "Completed"}, {"exitCode", 0}}}};
  EXPECT_FALSE(judge_pod(pod_with(done, "initContainerStatuses")).failure);
  const json failed{{"terminated", {{"reason", "Error"}, {"exitCode", 1}}}};
  const auto verdict = judge_pod(pod_with(failed, "initContainerStatuses"));
  EXPECT_EQ(verdict.failure, FailureReason::exited);
  EXPECT_EQ(verdict.detail, "bringing skiffd into it ended with status 1");
}

TEST(PodWait, AnEvictedOrDeletedPodIsOver) {
  const auto evicted = judge_pod(pod({{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "disk"}}));
  EXPECT_EQ(evicted.failure, FailureReason::exited);
  EXPECT_EQ(evicted.detail, "Evicted: disk");
  kube::Object deleted = pod({{"phase", "Running"}});
  deleted.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(judge_pod(deleted).failure, FailureReason::exited);
  EXPECT_EQ(judge_pod(pod({{"phase", "Succeeded"}})).failure, FailureReason::exited);
}

// --- an external address
// ----------------------------------------------------------------------------------------------

using fakes::FakeCluster;
using fakes::FakeRequest;

/// A cluster with a LoadBalancer that has no address yet.
struct Balanced {
  explicit Balanced(Executor executor) : fake{executor} {
    kube::Object service = kube::Object::make(kube::kServices, "default", "skiff-box-svc");
    service.json["spec"]["type"] = "LoadBalancer";
    fake.server.put(kube::kServices, std::move(service));
  }
  Task<Result<kube::Object>> wait(std::chrono::milliseconds time) {
    return wait_for_address(&fake.cluster->client(), "default", "skiff-box-svc",
                            std::chrono::steady_clock::now() + time);
  }
  Task<> stop() { return fake.stop(); }

  FakeCluster fake;
};

CO_TEST(AddressWait, EndsWhenACloudHasGivenOne, Balanced& on) {
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (request.is_watch()) {
      on.fake.server.change(kube::kServices, "default", "skiff-box-svc", [](json& service) {
        service["status"]["loadBalancer"]["ingress"] = json::array({{{"hostname", "lb.example"}}});
      });
    }
    return std::nullopt;
  };
  auto service = co_await on.wait(test::kReactorLimit);
  CO_ASSERT_TRUE(service.has_value()) << service.error().message;
  EXPECT_EQ(service->json["status"]["loadBalancer"]["ingress"][0]["hostname"], "lb.example");
}

CO_TEST(AddressWait, EndsInTimeWithTheLastWarning, Balanced& on) {
  kube::Object event = kube::Object::make(kube::kEvents, "default", "e1");
  event.json.update({{"type", "Warning"}, {"reason", "SyncLoadBalancerFailed"}, {"message", "no more addresses"}});
  event.json["involvedObject"]["name"] = "skiff-box-svc";
  on.fake.server.put(kube::kEvents, std::move(event));
  auto service = co_await on.wait(std::chrono::milliseconds{1});
  CO_ASSERT_TRUE(!service);
  EXPECT_EQ(failure_reason(service.error()), FailureReason::not_ready);
  EXPECT_EQ(
      service.error().message,
      "service default/skiff-box-svc has no external address in time; the last event is SyncLoadBalancerFailed: no "
      "more addresses");
}

CO_TEST(AddressWait, EndsWithItsService, Balanced& on) {
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (request.is_watch()) on.fake.server.erase(kube::kServices, "default", "skiff-box-svc");
    return std::nullopt;
  };
  auto service = co_await on.wait(test::kReactorLimit);
  CO_ASSERT_TRUE(!service);
  EXPECT_TRUE(service.error().message.contains("was deleted meanwhile")) << service.error().message;
}

}  // namespace
}  // namespace skiff::container
