#include "container/cluster/checks.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>

#include "container/agent/copy/clock_difference.hpp"
#include "container/cluster/permissions.hpp"
#include "container/kube/objects/quantity.hpp"

namespace skiff::container {
namespace {

using kube::Failure;
using kube::Object;

constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
/// The names in agent-sandbox's own manifests.
constexpr const char* kControllerNamespace = "agent-sandbox-system";
constexpr const char* kController = "agent-sandbox-controller";
constexpr const char* kRouter = "sandbox-router-svc";
constexpr const char* kEnforce = "pod-security.kubernetes.io/enforce";

Check passed(std::string what, std::string detail) {
  return {.what = std::move(what), .passed = true, .detail = std::move(detail)};
}
Check failed(std::string what, std::string detail, std::string remedy) {
  return {.what = std::move(what), .passed = false, .detail = std::move(detail), .remedy = std::move(remedy)};
}
Check not_known(std::string what, const Failure& failure) {
  return passed(std::move(what), "not known: " + failure.error.message);
}

std::string way_to_server(const kube::Client& client, const Failure& failure) {
  const std::string& origin = client.transport().access().origin;
  if (failure.error.code == Errc::unauthenticated) {
    return "log in again, or choose another user with --context (this is " + origin + ")";
  }
  return "check that its address is right and reachable from here, or choose another cluster with --context (this is " +
         origin + ")";
}

/// Checks the clock of the API server by its Date header: leases, ages and tokens depend on it.
Task<Check> examine_clock(kube::Client* client) {
  kube::Call call{.target = "/version", .what = "ask for the time"};
  auto reply = co_await client->transport().send(std::move(call));
  if (!reply) co_return not_known("clock", reply.error());
  const auto ahead = clock_difference(reply->head.headers, wall_now());
  if (!ahead) co_return passed("clock", "not known: the API server does not send its time");
  if (*ahead > kMostClockDifference || *ahead < -kMostClockDifference) {
    co_return failed("clock", "the API server's is " + clock_words(*ahead),
                     "synchronize this machine's clock by NTP: agents refuse tokens of another time");
  }
  co_return passed("clock", "same as the API server's");
}

class Examination {
 public:
  Examination(kube::Client* client, ClusterQuestions questions) : client_{client}, asked_{std::move(questions)} {
    if (asked_.namespace_name.empty()) asked_.namespace_name = client->default_namespace();
  }

  Task<std::vector<Check>> run() {
    checks_ = co_await examine_api_server(client_);
    if (!checks_.front().passed) co_return std::move(checks_);
    co_await permissions();
    co_await namespace_itself();
    co_await quotas();
    co_await admission();
    co_await agent_sandbox();
    agent_image();
    way_to_agents();
    co_return std::move(checks_);
  }

 private:
  Task<> permissions() {
    auto rules = rules_of({.driver = asked_.driver, .name_prefix = asked_.name_prefix});
    auto all = co_await missing_rights(client_, std::move(*rules), asked_.namespace_name);
    if (!all) {
      checks_.push_back(unasked_permissions(all.error()));
      co_return;
    }
    std::string missing;
    for (std::string& words : *all) {
      missing += (missing.empty() ? "" : ", ") + words;
      missing_.insert(std::move(words));
    }
    const std::string where = "in namespace " + asked_.namespace_name;
    if (missing.empty()) {
      checks_.push_back(passed("permissions", "all that skiff needs " + where));
    } else {
      checks_.push_back(failed("permissions", "not allowed " + where + ": " + missing, role_remedy()));
    }
  }

  [[nodiscard]] std::string role_remedy() const {
    const std::string driver = asked_.driver == ClusterDriver::claim ? " --driver claim" : "";
    const std::string in = " -n " + asked_.namespace_name;
    return "ask an administrator to run `skiff rbac" + driver + " | kubectl apply" + in +
           " -f -`, then `kubectl create rolebinding skiff" + in +
           " --role skiff --user YOU`; or use your own namespace with --namespace";
  }

  Task<> namespace_itself() {
    const std::string what = "namespace " + asked_.namespace_name;
    auto found = co_await client_->get(kube::kNamespaces, {}, asked_.namespace_name);
    if (!found && found.error().not_found()) {
      checks_.push_back(
          failed(what, "there is none",
                 "`kubectl create namespace " + asked_.namespace_name + "`, or choose one with --namespace"));
    } else if (!found) {
      checks_.push_back(not_known(what, found.error()));
    } else if (found->is_being_deleted()) {
      checks_.push_back(failed(what, "it is being deleted",
                               "wait until it is gone and create it again, or choose another with --namespace"));
    } else {
      const std::string level = found->label(kEnforce);
      checks_.push_back(passed(what, level.empty() ? "no Pod Security level" : "Pod Security level " + level));
    }
  }

  Task<> quotas() {
    auto all = co_await client_->list(kube::kResourceQuotas, asked_.namespace_name);
    if (!all) {
      checks_.push_back(not_known("quota", all.error()));
      co_return;
    }
    std::string used_up;
    std::string lines;
    for (const Object& quota : all->items) {
      const auto used = quota.texts({"status", "used"});
      for (const auto& [resource, hard] : quota.texts({"status", "hard"})) {
        const auto at = used.find(resource);
        const std::string now = at == used.end() ? "0" : at->second;
        const auto most = kube::parse_quantity(hard);
        const auto count = kube::parse_quantity(now);
        auto& list = most && count && *count >= *most && is_needed(resource) ? used_up : lines;
        if (!list.empty()) list += ", ";
        list.append(quota.name()).append(": ").append(now).append(" of ").append(hard).append(" ").append(resource);
      }
    }
    if (used_up.empty()) {
      checks_.push_back(passed("quota", lines.empty() ? "none" : lines));
    } else {
      checks_.push_back(
          failed("quota", used_up, "remove sandboxes (`skiff gc`, `skiff rm NAME`), or have the ResourceQuota raised"));
    }
  }

  /// True if a sandbox uses this resource.
  static bool is_needed(std::string_view resource) {
    constexpr std::array<std::string_view, 12> kTaken{"pods",
                                                      "count/pods",
                                                      "cpu",
                                                      "memory",
                                                      "requests.cpu",
                                                      "requests.memory",
                                                      "requests.ephemeral-storage",
                                                      "limits.cpu",
                                                      "limits.memory",
                                                      "limits.ephemeral-storage",
                                                      "configmaps",
                                                      "count/configmaps"};
    return std::ranges::count(kTaken, resource) > 0;
  }

  Task<> admission() {
    if (!asked_.trial) co_return;
    auto made = co_await client_->create(kube::kPods, std::move(*asked_.trial), {.dry_run = true});
    if (made) {
      checks_.push_back(passed("admission", "the cluster would accept a sandbox"));
      co_return;
    }
    const std::string& message = made.error().error.message;
    std::string remedy = "change what the message names";
    if (message.contains("PodSecurity")) {
      remedy =
          "leave --run-as, --pod-overrides and the like at their defaults, which pass the level `restricted`, or use "
          "another namespace";
    } else if (message.contains("quota")) {
      remedy = "lower --cpu, --memory and --disk, remove sandboxes (`skiff gc`), or have the ResourceQuota raised";
    } else if (with_right_hint(made.error().error, "up") != message) {
      remedy = role_remedy();
    }
    checks_.push_back(failed("admission", message, std::move(remedy)));
  }

  Task<> agent_sandbox() {
    std::string version;
    for (const char* known : {"v1beta1", "v1alpha1"}) {
      auto served = co_await client_->serves(kube::kSandboxClaims.at(known));
      if (!served) {
        checks_.push_back(not_known("agent-sandbox", served.error()));
        co_return;
      }
      if (*served && version.empty()) version = known;
    }
    const bool needed = asked_.driver == ClusterDriver::claim;
    if (version.empty() && needed) {
      auto bare = co_await client_->serves(kube::kSandboxes);
      if (bare && *bare) {
        checks_.push_back(failed("agent-sandbox", "its extensions are not installed: only bare Sandboxes are available",
                                 "install its extensions.yaml for templates, claims and pools"));
        co_return;
      }
    }
    if (version.empty()) {
      checks_.push_back(
          needed ? failed("agent-sandbox", "the cluster has no SandboxClaims",
                          "install it with its extensions (https://github.com/kubernetes-sigs/agent-sandbox), or use "
                          "--driver pod")
                 : passed("agent-sandbox", "not installed; only the driver `claim` needs it"));
      co_return;
    }
    checks_.push_back(passed("agent-sandbox", "SandboxClaims " + version));
    co_await controller();
    co_await router();
  }

  Task<> controller() {
    const std::string what = "agent-sandbox controller";
    auto found = co_await client_->get(kDeployments, kControllerNamespace, kController);
    if (!found) {
      checks_.push_back(not_known(what, found.error()));
      co_return;
    }
    std::string image = "unknown image";
    const nlohmann::json* containers = found->find({"spec", "template", "spec", "containers"});
    if (containers != nullptr && containers->is_array() && !containers->empty() && containers->front().is_object()) {
      image = containers->front().value("image", image);
    }
    if (found->integer({"status", "availableReplicas"}).value_or(0) > 0) {
      checks_.push_back(passed(what, image));
    } else {
      checks_.push_back(failed(what, image + ", of which no replica is available",
                               std::string{"see why: `kubectl -n "} + kControllerNamespace + " describe deployment " +
                                   kController + "`; until then use --driver pod"));
    }
  }

  Task<> router() {
    auto found = co_await client_->get(kube::kServices, kControllerNamespace, kRouter);
    if (found) {
      checks_.push_back(passed("router", std::string{"Service "} + kControllerNamespace + "/" + kRouter));
    } else if (found.error().not_found()) {
      checks_.push_back(passed("router", "none; agents are reached without it"));
    } else {
      checks_.push_back(not_known("router", found.error()));
    }
  }

  void agent_image() {
    if (!asked_.inject) {
      checks_.push_back(passed("agent image", "none: images must contain skiffd (--no-inject)"));
    } else if (!asked_.agent_image.empty()) {
      checks_.push_back(passed("agent image", asked_.agent_image));
    } else {
      checks_.push_back(
          failed("agent image", "none is configured",
                 "give the image that holds skiffd with --agent-image or SKIFF_AGENT_IMAGE (it is built by "
                 "`docker build -t REGISTRY/skiffd .`), or use images that have it with --no-inject"));
    }
  }

  void way_to_agents() {
    const auto all = [this](std::initializer_list<const char*> rights) {
      return std::ranges::none_of(rights, [this](const char* right) { return missing_.contains(right); });
    };
    if (all({"get pods/portforward", "create pods/portforward"})) {
      checks_.push_back(passed("way to agents", "port-forward through the API server"));
    } else if (all({"get pods/proxy", "create pods/proxy"})) {
      checks_.push_back(passed("way to agents", "proxy of the API server"));
    } else {
      checks_.push_back(failed("way to agents", "neither pods/portforward nor pods/proxy is allowed",
                               role_remedy() + "; or name an address that is reachable from here with --url"));
    }
  }

  kube::Client* client_;
  ClusterQuestions asked_;
  std::vector<Check> checks_;
  std::set<std::string> missing_;  ///< "get pods/log"
};

}  // namespace

Task<std::vector<Check>> examine_api_server(kube::Client* client) {
  auto version = co_await client->version();
  std::vector<Check> checks;
  if (version) {
    checks.push_back(passed("API server", version->git_version + " at " + client->transport().access().server.text()));
    checks.push_back(co_await examine_clock(client));
  } else {
    std::string remedy = way_to_server(*client, version.error());
    checks.push_back(failed("API server", version.error().error.message, std::move(remedy)));
  }
  co_return checks;
}

Check unasked_permissions(const kube::Failure& failure) {
  return failed("permissions", failure.error.message,
                "the operator of the cluster must allow selfsubjectaccessreviews, which is the default");
}

Task<std::vector<Check>> examine_cluster(kube::Client* client, ClusterQuestions questions) {
  Examination examination{client, std::move(questions)};
  co_return co_await examination.run();
}

}  // namespace skiff::container
