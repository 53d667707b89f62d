#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "container/cluster/cluster.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/reach.hpp"
#include "container/drivers/pods/find.hpp"
#include "container/drivers/pods/record.hpp"
#include "container/sandbox/progress.hpp"
#include "tests/support/fake_api_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container::fakes {

using kube::fakes::FakeApiServer;
using FakeAnswer = FakeApiServer::Answer;
using FakeRequest = FakeApiServer::Request;

/// A cluster in memory and one launcher's view of it. Stop it at the end of the test.
struct FakeCluster {
  explicit FakeCluster(Executor executor) : server{executor}, cluster{open(executor)} {}

  /// `attempts`: how often a request is sent. `key_age`: see ClusterOptions.
  [[nodiscard]] std::unique_ptr<Cluster> open(Executor executor, int attempts = 3,
                                              std::chrono::milliseconds key_age = std::chrono::seconds{1}) const {
    using namespace std::chrono_literals;
    const std::string server_url = "http://127.0.0.1:" + std::to_string(server.port());
    ClusterOptions options;
    options.access.kubeconfig = directory.write(
        "kubeconfig", "clusters: [{name: c, cluster: {server: '" + server_url +
                          "'}}]\nusers: [{name: u, user: {}}]\n"
                          "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n");
    options.key_age = key_age;
    options.transport.retry = {.first = 1ms, .most = 2ms, .all = 5'000ms, .attempts = attempts};
    return Cluster::open(executor, std::move(options)).value();
  }
  Task<> stop() { return server.stop(); }

  skiff::test::TemporaryDirectory directory = {};
  FakeApiServer server;
  std::unique_ptr<Cluster> cluster;
};

/// Agents are behind the API server's proxy, where FakeApiServer::agent answers.
inline ReachOptions through_the_proxy() {
  return {.only = Way::proxy};
}

/// A skiffd's answer to a request that it refuses.
inline FakeAnswer agent_refusal(unsigned status, std::string problem) {
  return {.status = status, .body = std::move(problem), .headers = {{"Content-Type", "application/problem+json"}}};
}

inline void ignore_progress(Phase, std::string_view) {}

/// The least that `create` needs to know of a sandbox.
inline SandboxSpec plain_spec(std::string name) {
  SandboxSpec spec{.name = std::move(name), .image = "busybox", .owner = "ann"};
  spec.pod.agent_image = "agent:1";
  spec.wait = std::chrono::seconds{5};
  return spec;
}

/// A Pod of the sandbox with that id, as `up` leaves it.
inline kube::Object sandbox_pod(const std::string& name, const std::string& id) {
  kube::Object pod = kube::Object::make(kube::kPods, "default", "skiff-" + name);
  labels::put_common(pod, "sandbox", name, "ann");
  labels::put(pod, labels::kSandbox, id);
  FakeApiServer::make_ready(pod.json);
  return pod;
}

inline PodRecord sandbox_record(const std::string& name, const std::string& id) {
  PodRecord record{
      .spec = plain_spec(name), .id = id, .namespace_name = "default", .pod = "skiff-" + name, .was_up = true};
  record.spec.pod.service = ServiceKind::none;
  return record;
}

/// Record and Pod of a sandbox, as `up` leaves them.
inline KnownPod put_sandbox(FakeApiServer& server, const PodRecord& record) {
  const std::string name = "skiff-" + record.spec.name;
  KnownPod known{.record = record};
  known.config_map = server.put(kube::kConfigMaps, create_record(record, "default", name));
  kube::Object pod = sandbox_pod(record.spec.name, record.id);
  pod.json["metadata"]["ownerReferences"] = nlohmann::json::array({known.config_map->owner_reference()});
  known.pod = server.put(kube::kPods, std::move(pod));
  return known;
}
inline KnownPod put_sandbox(FakeApiServer& server, const std::string& name, const std::string& id) {
  return put_sandbox(server, sandbox_record(name, id));
}

}  // namespace skiff::container::fakes
