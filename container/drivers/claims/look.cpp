#include "container/drivers/claims/look.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "base/async/in_parallel.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/gone_pod.hpp"
#include "container/drivers/claims/noted_pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// Most sandboxes of a list that are read one by one at the same time.
constexpr std::size_t kClaimLooksAtOnce = 16;
/// The creator of a sandbox notes that it is up, or gives up, within this time after the end of its wait.
constexpr std::chrono::minutes kClaimBeingMade{1};
/// The controller sets this label on all Pods that it creates or takes from a pool.
constexpr std::string_view kPodOfController = "agents.x-k8s.io/sandbox-name-hash";

/// Describes the sandbox by the status of its object.
Sandbox described_alone(Cluster* cluster, const Object& object) {
  Sandbox sandbox = describe_claim(object);
  if (!labels::is_ours(object) || noted_pod(object)) return sandbox;
  const auto made = object.created();
  const WallTime now = cluster->client().transport().server_now();
  const bool is_late = made && now - *made >= kClaimBeingMade + spec_of(object).wait;
  sandbox.was_never_up = is_late || sandbox.state == SandboxState::failed;
  return sandbox;
}

/// The uid of the Pod in which the sandbox must still be; empty if it need not be in any.
std::string expected_pod(const Object& object, const Sandbox& now) {
  if (now.state != SandboxState::running && now.state != SandboxState::creating) return {};
  const auto noted = noted_pod(object);
  return noted ? noted->uid : std::string{};
}

Task<std::optional<PodEnd>> end_of_noted(Cluster* cluster, const ClaimView* view) {
  const auto noted = noted_pod(view->object);
  GonePod pod{.namespace_name = view->object.namespace_name(),
              .name = pod_name(view->sandbox ? *view->sandbox : view->object),
              .uid = noted->uid,
              .node = noted->node,
              .started_at = noted->started_at};
  co_return co_await end_of_gone(&cluster->client(), std::move(pod));
}

/// The uids of the controller's Pods; none if they may not be listed.
Task<std::set<std::string>> uids_of_pods(Cluster* cluster) {
  std::set<std::string> uids;
  const auto note = [&uids](const std::vector<Object>& items, bool is_first) {
    if (is_first) uids.clear();
    for (const Object& pod : items) uids.insert(pod.uid());
  };
  kube::ListOptions options{.label_selector = std::string{kPodOfController}};
  (void)co_await cluster->client().each_page(kube::kPods, cluster->namespace_name(), std::move(options), note);
  co_return uids;
}

Task<> look_into(Cluster* cluster, SandboxApi api, Object object, Sandbox* sandbox) {
  auto view = co_await look_at_claim(cluster, api, std::move(object));
  if (view) *sandbox = std::move(view->now);
}

}  // namespace

Task<Result<std::optional<Object>>> sandbox_of(Cluster* cluster, SandboxApi api, Object object) {
  if (!is_claim(object)) co_return std::move(object);
  const std::string name = sandbox_name(object);
  if (name.empty()) co_return std::nullopt;
  auto sandbox = co_await cluster->read(at(kube::kSandboxes, api), object.namespace_name(), name);
  if (sandbox) co_return std::move(*sandbox);
  if (sandbox.error().not_found()) co_return std::nullopt;
  co_return std::unexpected{std::move(sandbox.error())};
}

Task<Result<ClaimView>> read_claim(Cluster* cluster, SandboxApi api, Object object) {
  ClaimView view{.object = std::move(object)};
  view.now = described_alone(cluster, view.object);
  SKIFF_CO_TRY(view.sandbox, co_await sandbox_of(cluster, api, view.object));
  if (!view.sandbox) co_return view;
  auto pod = co_await cluster->read(kube::kPods, view.object.namespace_name(), pod_name(*view.sandbox));
  if (!pod && !pod.error().not_found()) co_return std::unexpected{std::move(pod.error())};
  if (pod) view.pod = std::move(*pod);
  co_return view;
}

Task<Result<ClaimView>> look_at_claim(Cluster* cluster, SandboxApi api, Object object) {
  for (;;) {
    Sandbox alone = described_alone(cluster, object);
    const bool has_ended = judge_claim(object).lost_pod;
    const std::string expected = expected_pod(object, alone);
    if (!has_ended && expected.empty() && alone.state != SandboxState::running) {
      co_return ClaimView{.object = std::move(object), .now = std::move(alone)};
    }
    SKIFF_CO_TRY(auto view, co_await read_claim(cluster, api, std::move(object)));
    if (has_ended && view.pod) describe_end(view.now, *view.pod);
    if (expected.empty() || (view.pod && view.pod->uid() == expected)) co_return view;
    // A `stop` that came between these reads ends the Pod, too, and takes back the note before.
    const kube::Resource resource = at(is_claim(view.object) ? kube::kSandboxClaims : kube::kSandboxes, api);
    auto again = co_await cluster->read(resource, view.object.namespace_name(), view.object.name());
    if (!again && !again.error().not_found()) co_return std::unexpected{std::move(again.error())};
    if (!again || again->uid() != view.object.uid()) co_return std::unexpected{no_such_sandbox(view.now.name)};
    const auto noted = noted_pod(*again);
    if (noted && noted->uid == expected) {
      const auto end = co_await end_of_noted(cluster, &view);
      describe_loss(view.now, end);
      co_return view;
    }
    object = std::move(*again);
  }
}

Task<std::vector<Sandbox>> look_at_claims(Cluster* cluster, SandboxApi api, std::vector<Object> objects) {
  std::vector<Sandbox> all;
  for (const Object& object : objects) all.push_back(described_alone(cluster, object));
  std::set<std::string> there;
  bool is_listed = false;
  std::vector<std::size_t> unclear;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string expected = expected_pod(objects[i], all[i]);
    if (!expected.empty() && !std::exchange(is_listed, true)) there = co_await uids_of_pods(cluster);
    const bool is_gone = !expected.empty() && !there.contains(expected);
    if (is_gone || judge_claim(objects[i]).lost_pod) unclear.push_back(i);
  }
  co_await in_parallel(unclear.size(), kClaimLooksAtOnce, [&](std::size_t index) {
    const std::size_t one = unclear[index];
    return look_into(cluster, api, std::move(objects[one]), &all[one]);
  });
  co_return all;
}

}  // namespace skiff::container
