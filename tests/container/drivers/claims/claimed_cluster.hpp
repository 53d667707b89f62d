#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/drivers/claims/driver.hpp"
#include "container/drivers/claims/noted_pod.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/cluster/manifest_context.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::fakes {

/// A cluster with agent-sandbox, of whose controller nothing but the state that it left is there.
struct ClaimedCluster {
  explicit ClaimedCluster(Executor executor) : fake{executor}, driver{fake.cluster.get(), fakes::through_the_proxy()} {
    fake.server.served = {{"agents.x-k8s.io/v1beta1", {"sandboxes"}},
                          {"extensions.agents.x-k8s.io/v1beta1", {"sandboxclaims", "sandboxwarmpools"}}};
  }
  Task<> begin() { (void)(co_await fake.cluster->signing_key(true)).value(); }
  Task<> stop() {
    co_await driver.close();
    co_await fake.stop();
  }
  /// A bare Sandbox that runs, with its Pod.
  kube::Object put_bare(const std::string& name) {
    ManifestContext context = test::manifest_context();
    context.namespace_name = "default";
    SandboxSpec spec = fakes::plain_spec(name);
    spec.lease.ttl = std::chrono::seconds{60};
    kube::Object sandbox = create_sandbox(spec, context, SandboxApi::v1beta1, std::nullopt).value();
    sandbox.json["metadata"]["namespace"] = "default";
    put_ready(sandbox, "True");
    kube::Object pod = kube::Object::make(kube::kPods, "default", pod_name(sandbox));
    pod.json["metadata"]["labels"] = sandbox.json["spec"]["podTemplate"]["metadata"]["labels"];
    pod.json["spec"] = sandbox.json["spec"]["podTemplate"]["spec"];
    sandbox.json.merge_patch(up_note(put_pod(std::move(pod)), ""));
    return fake.server.put(kube::kSandboxes, std::move(sandbox));
  }
  /// A Pod that is Ready, with the label of the controller.
  kube::Object put_pod(kube::Object pod) {
    pod.json["metadata"]["labels"]["agents.x-k8s.io/sandbox-name-hash"] = "h";
    FakeApiServer::make_ready(pod.json);
    return fake.server.put(kube::kPods, std::move(pod));
  }
  /// Does what the controller does after a Pod was deleted.
  kube::Object replace_pod(const std::string& name) {
    kube::Object pod = fake.server.find(kube::kPods, "default", name).value();
    fake.server.erase(kube::kPods, "default", name);
    return put_pod(std::move(pod));
  }
  static void put_ready(kube::Object& object, std::string_view status, std::string_view reason = "DependenciesReady") {
    object.json["status"]["conditions"] =
        nlohmann::json::array({{{"type", "Ready"}, {"status", status}, {"reason", reason}, {"message", ""}}});
  }
  [[nodiscard]] nlohmann::json sandbox_says(std::string_view pointer) const {
    const auto object = fake.server.find(kube::kSandboxes, "default", "skiff-box");
    const nlohmann::json::json_pointer at{std::string{pointer}};
    return object && object->json.contains(at) ? object->json.at(at) : nlohmann::json{};
  }

  FakeCluster fake;
  ClaimDriver driver;
};

/// A claim that runs, with the label that a sandbox has.
inline kube::Object ready_claim(const std::string& name) {
  ManifestContext context = test::manifest_context();
  kube::Object claim =
      create_claim(fakes::plain_spec(name), context, SandboxApi::v1beta1, {.pool = "warm"}, std::nullopt);
  claim.json["metadata"]["namespace"] = "default";
  ClaimedCluster::put_ready(claim, "True");
  return claim;
}

}  // namespace skiff::container::fakes
