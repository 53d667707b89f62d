#include "container/cluster/egress/trial.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/finally.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/kube/pod_log.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::chrono::seconds kTrialPatience{60};
constexpr std::chrono::milliseconds kBetweenTrialLooks{200};
constexpr const char* kWhat = "egress fence";

/// Addresses that a cluster may leave open to every Pod: the API server, the kubelet and a name server on the node, and
/// a cloud's server of metadata.
const std::vector<std::string> kTargets{"$(KUBERNETES_SERVICE_HOST):443", "$(NODE):10250", "$(NODE):53",
                                        "169.254.20.10:53", "169.254.169.254:80"};

struct Trials {
  Cluster* cluster = nullptr;
  std::string image = {};
  std::string proxy = {};
  std::string canary = {};
};

Object trial_pod(const Trials& trials, const std::string& name, bool is_fenced) {
  Object pod = Object::make(kube::kPods, trials.cluster->namespace_name(), name);
  labels::put_common(pod, "egress", {}, {});
  if (is_fenced) pod.json["metadata"]["labels"][labels::kNetwork] = kEgressNetwork;
  json words = json::array({"egress", "probe", is_fenced ? "fenced" : "open", trials.canary, trials.proxy});
  for (const std::string& target : kTargets) words.push_back(target);
  const json node{{"name", "NODE"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.hostIP"}}}}}};
  json container{
      {"name", "probe"},
      {"image", trials.image},
      {"args", std::move(words)},
      {"env", json::array({node})},
      {"securityContext", {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", json::array({"ALL"})}}}}}};
  pod.json["spec"] = {
      {"restartPolicy", "Never"},
      {"activeDeadlineSeconds", 2 * kTrialPatience.count()},
      {"automountServiceAccountToken", false},
      {"securityContext",
       {{"runAsNonRoot", true}, {"runAsUser", 65532}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
      {"containers", json::array({std::move(container)})}};
  return pod;
}

Task<Result<Trials>> prepare_trials(Cluster* cluster) {
  kube::Client& client = cluster->client();
  SKIFF_CO_TRY(const auto notice,
               co_await client.get(kube::kConfigMaps, cluster->namespace_name(), std::string{kEgressName}));
  SKIFF_CO_TRY(
      const auto deployment,
      co_await client.get(kEgressDeployments, egress_namespace(cluster->namespace_name()), std::string{kEgressName}));
  const json* containers = deployment.find({"spec", "template", "spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->empty()) {
    co_return fail(Errc::not_found, "the Deployment of the egress proxy has no container");
  }
  co_return Trials{.cluster = cluster,
                   .image = containers->front().value("image", ""),
                   .proxy = notice.text({"data", kEgressProxyField}),
                   .canary = notice.text({"data", kEgressCanaryField})};
}

Result<EgressTrial> read_trial(const std::string& text) {
  const auto said = json::parse(text, nullptr, false);
  if (!said.is_object() || !said.contains("canary") || !said.contains("proxy") || !said.contains("answered")) {
    return fail(Errc::invalid_request, "the trial Pod has said: " + text.substr(0, 300));
  }
  EgressTrial trial{.canary = said["canary"] == true, .proxy = said["proxy"] == true};
  for (const json& one : said["answered"]) trial.answered += (trial.answered.empty() ? "" : " ") + one.dump();
  return trial;
}

/// Waits for the end of the Pod, and reads what it has printed.
Task<Result<EgressTrial>> result_of(const Trials* trials, std::string name) {
  kube::Client& client = trials->cluster->client();
  const std::string& where = trials->cluster->namespace_name();
  const SteadyTime until = std::chrono::steady_clock::now() + kTrialPatience;
  for (;;) {
    SKIFF_CO_TRY(const auto pod, co_await client.get(kube::kPods, where, name));
    const std::string phase = kube::pod_phase(pod);
    if (phase == "Succeeded") break;
    if (phase == "Failed" || std::chrono::steady_clock::now() >= until) {
      co_return fail(Errc::timeout, std::string{"the trial Pod "}.append(name).append(" is ").append(phase).append(
                                        ", and says nothing"));
    }
    co_await pause(kBetweenTrialLooks);
  }
  SKIFF_CO_TRY(const auto text, co_await kube::read_log(&client, where, name, {}));
  co_return read_trial(text);
}

Task<Result<std::vector<Check>>> run_trials(const Trials* trials, std::string fenced, std::string open) {
  kube::Client& client = trials->cluster->client();
  const std::string& where = trials->cluster->namespace_name();
  const std::string& prefix = trials->cluster->options().name_prefix;
  for (Object& policy : std::array{egress_entrance(where, prefix), egress_fence(where, prefix)}) {
    SKIFF_CO_TRY_VOID(co_await client.apply(kube::kNetworkPolicies, std::move(policy), {.force = true}));
  }
  SKIFF_CO_TRY_VOID(co_await client.create(kube::kPods, trial_pod(*trials, fenced, true)));
  SKIFF_CO_TRY_VOID(co_await client.create(kube::kPods, trial_pod(*trials, open, false)));
  SKIFF_CO_TRY(const auto of_fenced, co_await result_of(trials, fenced));
  SKIFF_CO_TRY(const auto of_open, co_await result_of(trials, open));
  co_return judge_trials(of_fenced, of_open);
}

std::vector<Check> not_verified(const Error& error) {
  return {{.what = kWhat,
           .passed = false,
           .detail = "not verified: " + error.message,
           .remedy = "install the proxy with skiff egress install, and run this with the right to create Pods"}};
}

}  // namespace

std::vector<Check> judge_trials(const EgressTrial& fenced, const EgressTrial& open) {
  if (!open.canary) {
    return {
        {.what = kWhat,
         .passed = false,
         .detail = "not verified: a Pod without the fence does not reach the canary either",
         .remedy = "see that the Pods of skiff-egress are ready, and that no other NetworkPolicy selects all Pods"}};
  }
  if (fenced.canary || !fenced.answered.empty()) {
    std::string what = fenced.canary ? "the canary" : "";
    if (!fenced.answered.empty()) what += (what.empty() ? "" : " ") + fenced.answered;
    return {{.what = kWhat,
             .passed = false,
             .detail = "egress_not_enforced: a Pod with the fence has reached " + what,
             .remedy = "use a network plugin that enforces NetworkPolicy for egress, and remove policies of the "
                       "namespace that allow more"}};
  }
  if (!fenced.proxy) {
    return {{.what = kWhat,
             .passed = false,
             .detail = "a Pod with the fence does not reach the proxy",
             .remedy = "run skiff egress install again, and see that the Pods of skiff-egress are ready"}};
  }
  return {{.what = kWhat,
           .passed = true,
           .detail = "a Pod with the fence has reached the proxy alone, one without it the canary"}};
}

Task<std::vector<Check>> try_egress(Cluster* cluster) {
  const auto trials = co_await prepare_trials(cluster);
  if (!trials) co_return not_verified(trials.error());
  const std::string fenced = create_name("skiff-egress-trial-");
  const std::string open = create_name("skiff-egress-trial-");
  Result<std::vector<Check>> checks;
  // An interrupt leaves no Pod either.
  co_await finally([&](this auto) -> Task<> { checks = co_await run_trials(&*trials, fenced, open); },
                   [&](this auto) -> Task<> {
                     for (const std::string& name : {fenced, open}) {
                       (void)co_await cluster->client().remove(kube::kPods, cluster->namespace_name(), name,
                                                               {.grace_seconds = 1});
                     }
                   });
  co_return checks ? std::move(*checks) : not_verified(checks.error());
}

}  // namespace skiff::container
