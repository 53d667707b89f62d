#include "container/launcher/pod_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/kube/backoff.hpp"
#include "container/kube/pod.hpp"
#include "container/launcher/agent_client.hpp"
#include "container/launcher/cluster_checks.hpp"
#include "container/launcher/labels.hpp"
#include "container/launcher/pod_creation.hpp"
#include "container/launcher/pod_wait.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Above the Pod's grace period, by what the cluster itself takes.
constexpr milliseconds kGoneLimit{90'000};
/// A namespace waits for everything in it.
constexpr milliseconds kNamespaceGoneLimit{180'000};
/// For a request that was cut off to arrive, or not.
constexpr milliseconds kLateArrival{500};

std::optional<std::string> lease_end(const Lease& lease) {
  if (!lease.ttl) return std::nullopt;
  return rfc3339(wall_now() + *lease.ttl);
}

}  // namespace

PodDriver::PodDriver(Cluster* cluster, ReachOptions reach)
    : cluster_{cluster}, reach_{cluster, std::move(reach)}, pools_{cluster, &reach_} {}

Task<> PodDriver::close() {
  return reach_.stop();
}

// --- making ---------------------------------------------------------------------------------------------------------

Task<Result<KnownPod>> PodDriver::wait_for_agent(KnownPod known, Progress progress) {
  auto endpoint = co_await endpoint_of(&known, {});
  if (!endpoint) {
    co_return std::unexpected{bring_up_failure(FailureReason::not_ready, std::move(endpoint.error().message))};
  }
  AgentClient agent{cluster_->executor(), std::move(*endpoint)};
  if (auto answered = co_await agent.get("/readyz"); !answered) {
    co_return std::unexpected{bring_up_failure(FailureReason::not_ready, std::move(answered.error().message))};
  }
  if (known.record) {
    auto changed = co_await change_record(cluster_, &known, {{"was_up", "true"}});
    if (!changed) co_return std::unexpected{std::move(changed.error())};
    known.record->was_up = true;
    known.config_map = std::move(*changed);
  }
  progress(Phase::ready, "");
  co_return known;
}

Task<Result<Sandbox>> PodDriver::create(SandboxSpec spec, Progress progress) {
  if (!spec.pod.pool.empty()) {
    auto whole = co_await pools_.complete(std::move(spec));
    if (!whole) co_return std::unexpected{std::move(whole.error())};
    spec = std::move(*whole);
    spec.is_one_shot = false;  // a record finds it: its Pod keeps the name that it has in the pool
  }
  auto context = co_await prepare_sandbox(cluster_, &spec);
  if (!context) co_return std::unexpected{std::move(context.error())};
  const std::string name = spec.name;
  const std::string object_name = cluster_->object_name(name);
  const bool is_one_shot = spec.is_one_shot;
  PodRecord record{.spec = std::move(spec),
                   .id = context->sandbox_id,
                   .namespace_name = context->namespace_name,
                   .pod = object_name,
                   .stopped = false,
                   .expires_at = {}};
  record.expires_at = lease_end(record.spec.lease);
  const bool needs_more =
      record.spec.pod.namespace_per_sandbox || !owned_objects(record.spec, cluster_->options().name_prefix).empty();
  if (is_one_shot && needs_more) {
    co_return fail(Errc::invalid_field, "one run has a Pod and nothing else: name it by --keep to give it more",
                   "--keep");
  }
  const std::string id = record.id;
  Result<KnownPod> known = std::unexpected{Error{}};
  std::exception_ptr failure;
  try {
    known = co_await make_sandbox(cluster_, &pools_, std::move(record), is_one_shot, std::move(*context), progress);
    if (known) known = co_await wait_for_agent(std::move(*known), std::move(progress));
  } catch (...) {
    failure = std::current_exception();
  }
  if (known && !failure) co_return describe_known(*known);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  auto cleaned = co_await remove_if(name, id);
  if (failure) {
    // The request that was cut off may still be on its way through the API server.
    co_await kube::pause(kLateArrival);
    (void)co_await remove_if(name, id);
    std::rethrow_exception(failure);
  }
  Error error = std::move(known.error());
  if (!cleaned) error.message += "; and it could not be cleaned up: " + cleaned.error().message;
  co_return std::unexpected{std::move(error)};
}

Task<Result<std::vector<Object>>> PodDriver::manifest(SandboxSpec spec, bool to_be_applied) {
  auto context = co_await prepare_sandbox(cluster_, &spec);
  if (!context) co_return std::unexpected{std::move(context.error())};
  auto key = co_await cluster_->signing_key(to_be_applied);
  if (key) {
    auto public_key = key->public_pem();
    if (!public_key) co_return std::unexpected{std::move(public_key.error())};
    context->public_key = std::move(*public_key);
  } else if (to_be_applied || key.error().code != Errc::not_found) {
    co_return std::unexpected{std::move(key.error())};
  }
  co_return make_manifest(spec, *context, cluster_->namespace_name());
}

// --- looking ------------------------------------------------------------------------------------------------------

Task<Result<KnownPod>> PodDriver::find_running(std::string name) {
  auto known = co_await find_sandbox(cluster_, name);
  if (!known) co_return std::unexpected{std::move(known.error())};
  const Sandbox sandbox = describe_known(*known);
  if (sandbox.state == SandboxState::running) co_return known;
  co_return std::unexpected{not_running(sandbox)};
}

Task<Result<Sandbox>> PodDriver::get(std::string name) {
  auto known = co_await find_sandbox(cluster_, std::move(name));
  if (!known) co_return std::unexpected{std::move(known.error())};
  Sandbox sandbox = describe_known(*known);
  const auto service = sandbox.details.find("service");
  if (service != sandbox.details.end()) {
    auto found = co_await cluster_->client().get(kube::kServices, known->record->namespace_name, service->second);
    if (found) {
      sandbox.details["cluster_ip"] = kube::cluster_ip(*found);
      for (const std::string& address : kube::load_balancer_addresses(*found)) {
        sandbox.details["external_address"] = address;
      }
    }
  }
  co_return sandbox;
}

Task<Result<SandboxPage>> PodDriver::list(SandboxFilter filter) {
  return list_sandboxes(cluster_, std::move(filter));
}

// --- working with it ------------------------------------------------------------------------------------------------

Task<Result<ReachTarget>> PodDriver::target_of(const KnownPod* known) {
  ReachTarget target{.sandbox = labels::get(*known->pod, labels::kName),
                     .namespace_name = known->pod->namespace_name(),
                     .pod = *known->pod};
  if (!known->record) co_return target;
  const ServiceKind kind = known->record->spec.pod.service;
  if (kind == ServiceKind::nodeport || kind == ServiceKind::loadbalancer) {
    auto service = co_await cluster_->client().get(kube::kServices, target.namespace_name,
                                                   service_name(known->config_map->name()));
    if (service) target.service = std::move(*service);
  }
  co_return target;
}

Task<Result<Endpoint>> PodDriver::endpoint_of(const KnownPod* known, TokenGrant grant) {
  if (auto valid = check_grant(grant); !valid) co_return std::unexpected{std::move(valid.error())};
  auto key = co_await cluster_->signing_key(false);
  if (!key) co_return std::unexpected{std::move(key.error())};
  auto target = co_await target_of(known);
  if (!target) co_return std::unexpected{std::move(target.error())};
  const std::string id = known->pod->label(labels::kSandbox);
  const std::string owner = labels::get(*known->pod, labels::kOwner);
  std::function<Result<std::string>()> token = [key = std::move(*key), id, owner, grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  co_return co_await reach_.find(std::move(*target), std::move(token));
}

Task<Result<Endpoint>> PodDriver::endpoint(std::string name, TokenGrant grant) {
  auto known = co_await find_running(std::move(name));
  if (!known) co_return std::unexpected{std::move(known.error())};
  co_return co_await endpoint_of(&*known, std::move(grant));
}

Task<Result<protocol::Stream>> PodDriver::dial(std::string name, std::uint16_t port) {
  auto known = co_await find_running(std::move(name));
  if (!known) co_return std::unexpected{std::move(known.error())};
  auto target = co_await target_of(&*known);
  if (!target) co_return std::unexpected{std::move(target.error())};
  co_return co_await reach_.dial(std::move(*target), port);
}

// --- its life -------------------------------------------------------------------------------------------------------

Task<Result<>> PodDriver::remove_object(kube::Resource resource, std::string namespace_name, std::string name) {
  auto removed = co_await cluster_->client().remove(resource, namespace_name, name);
  if (!removed && removed.error().not_found()) co_return Result<>{};
  if (!removed) co_return std::unexpected{std::move(removed.error().error)};
  GoneWait wait{.resource = resource, .namespace_name = namespace_name, .name = std::move(name), .limit = kGoneLimit};
  const bool is_pod = resource.plural == kube::kPods.plural;
  kube::SharedWatch* const ours = is_pod ? &cluster_->pods(namespace_name) : nullptr;
  co_return co_await wait_until_gone(&cluster_->client(), std::move(wait), ours);
}

Task<Result<>> PodDriver::remove_pod(std::string namespace_name, std::string pod) {
  return remove_object(kube::kPods, std::move(namespace_name), std::move(pod));
}

Task<Result<>> PodDriver::stop(std::string name) {
  auto known = co_await find_sandbox(cluster_, name);
  if (!known) co_return std::unexpected{std::move(known.error())};
  if (known->damage) co_return std::unexpected{std::move(*known->damage)};
  if (!known->record) {
    co_return fail(Errc::invalid_field, "\"" + name + "\" is for one run and can't be stopped to be started again",
                   "name");
  }
  // Said first: whoever looks meanwhile sees what is meant.
  auto changed = co_await change_record(cluster_, &*known, {{"stopped", "true"}, {"expires_at", nullptr}});
  if (!changed) co_return std::unexpected{std::move(changed.error())};
  const std::string namespace_name = known->record->namespace_name;
  if (auto gone = co_await remove_pod(namespace_name, known->record->pod); !gone) co_return gone;
  if (known->record->spec.pod.service == ServiceKind::none) co_return Result<>{};
  co_return co_await remove_object(kube::kServices, namespace_name, service_name(known->config_map->name()));
}

Task<Result<Sandbox>> PodDriver::start(std::string name, milliseconds wait, Progress progress) {
  auto known = co_await find_sandbox(cluster_, name);
  if (!known) co_return std::unexpected{std::move(known.error())};
  const Sandbox now = describe_known(*known);
  if (now.state == SandboxState::running) co_return now;
  if (known->damage) co_return std::unexpected{std::move(*known->damage)};
  if (!known->record) {
    co_return fail(Errc::invalid_field, "\"" + name + "\" was for one run and can't be started again", "name");
  }
  PodRecord record = *known->record;
  if (now.state == SandboxState::creating) {
    // Somebody else is at it.
    PodWait theirs{.namespace_name = record.namespace_name, .name = record.pod, .deadline = steady_clock::now() + wait};
    auto news = co_await cluster_->pods(record.namespace_name).follow(record.pod);
    if (!news) co_return std::unexpected{std::move(news.error().error)};
    auto ready = co_await wait_until_ready(&cluster_->client(), &*news, std::move(theirs), progress);
    if (!ready) co_return std::unexpected{std::move(ready.error())};
    known->pod = std::move(*ready);
    auto up = co_await wait_for_agent(std::move(*known), std::move(progress));
    if (!up) co_return std::unexpected{std::move(up.error())};
    co_return describe_known(*up);
  }
  if (known->pod) {
    if (auto gone = co_await remove_pod(record.namespace_name, record.pod); !gone) {
      co_return std::unexpected{std::move(gone.error())};
    }
  }
  // A Pod that came from a pool is gone for good: its successor has the sandbox's own name.
  record.pod = known->config_map->name();
  record.stopped = false;
  record.spec.wait = wait;
  record.expires_at = lease_end(record.spec.lease);
  json data{{"stopped", "false"}, {"was_up", "false"}, {"pod", record.pod}};
  data["expires_at"] = record.expires_at ? json(*record.expires_at) : json{};
  auto changed = co_await change_record(cluster_, &*known, std::move(data));
  if (!changed) co_return std::unexpected{std::move(changed.error())};
  ManifestContext context{
      .namespace_name = record.namespace_name, .prefix = cluster_->options().name_prefix, .sandbox_id = record.id};
  if (!record.spec.pod.namespace_per_sandbox) context.assigns_ids = co_await cluster_->assigns_ids();
  Result<KnownPod> up = std::unexpected{Error{}};
  std::exception_ptr failure;
  try {
    up = co_await make_pod_ready(cluster_, std::move(record), std::move(*changed), std::move(context), progress);
    if (up) up = co_await wait_for_agent(std::move(*up), std::move(progress));
  } catch (...) {
    failure = std::current_exception();
  }
  if (up && !failure) co_return describe_known(*up);
  // As it was before: stopped.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  (void)co_await stop(name);
  if (failure) std::rethrow_exception(failure);
  co_return std::unexpected{std::move(up.error())};
}

Task<Result<>> PodDriver::remove_recorded(const KnownPod* known) {
  kube::Client& client = cluster_->client();
  const Object& config_map = *known->config_map;
  // One that can't be read has the Pod and the service of its name, as far as anybody can know.
  PodRecord record;
  record.namespace_name = config_map.namespace_name();
  record.pod = config_map.name();
  if (known->record) record = *known->record;
  if (record.namespace_name != config_map.namespace_name()) {
    auto removed = co_await client.remove(kube::kNamespaces, {}, record.namespace_name);
    if (!removed && !removed.error().not_found()) co_return std::unexpected{std::move(removed.error().error)};
    GoneWait home{.resource = kube::kNamespaces,
                  .namespace_name = {},
                  .name = record.namespace_name,
                  .limit = kNamespaceGoneLimit};
    auto gone = co_await wait_until_gone(&client, std::move(home));
    if (!gone) co_return gone;
  }
  auto removed = co_await client.remove(kube::kConfigMaps, config_map.namespace_name(), config_map.name(),
                                        {.uid = config_map.uid()});
  const bool is_gone = !removed && (removed.error().not_found() || removed.error().conflict());
  if (!removed && !is_gone) co_return std::unexpected{std::move(removed.error().error)};
  // The cascade takes the rest; the Pod, which takes longest, need not wait for it.
  if (auto gone = co_await remove_pod(record.namespace_name, record.pod); !gone) co_return gone;
  std::vector<std::pair<kube::Resource, std::string>> rest =
      owned_objects(record.spec, cluster_->options().name_prefix);
  if (record.spec.pod.service != ServiceKind::none) rest.emplace_back(kube::kServices, service_name(config_map.name()));
  for (auto& [resource, name] : rest) {
    // Also where kubectl made them from a manifest, without an owner.
    if (auto gone = co_await remove_object(resource, record.namespace_name, name); !gone) co_return gone;
  }
  GoneWait last{.resource = kube::kConfigMaps,
                .namespace_name = config_map.namespace_name(),
                .name = config_map.name(),
                .uid = config_map.uid(),
                .limit = kGoneLimit};
  co_return co_await wait_until_gone(&client, std::move(last));
}

Task<Result<bool>> PodDriver::remove(std::string name) {
  return remove_if(std::move(name), {});
}

Task<Result<bool>> PodDriver::remove_if(std::string name, std::string id) {
  auto known = co_await find_sandbox(cluster_, name);
  if (!known && known.error().code == Errc::sandbox_not_found) co_return false;
  if (!known) co_return std::unexpected{std::move(known.error())};
  const Object& first = known->config_map ? *known->config_map : *known->pod;
  if (!id.empty() && first.label(labels::kSandbox) != id) co_return false;
  Result<> removed;
  if (known->config_map) {
    removed = co_await remove_recorded(&*known);
  } else {
    removed = co_await remove_pod(known->pod->namespace_name(), known->pod->name());
  }
  if (!removed) co_return std::unexpected{std::move(removed.error())};
  co_return true;
}

Task<Result<Sandbox>> PodDriver::extend(std::string name, Lease lease) {
  auto known = co_await find_running(name);
  if (!known) co_return std::unexpected{std::move(known.error())};
  auto endpoint = co_await endpoint_of(&*known, {});
  if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
  AgentClient agent{cluster_->executor(), std::move(*endpoint)};
  std::string body = protocol::to_json(lease);
  if (auto renewed = co_await agent.post("/v1/lease", std::move(body)); !renewed) {
    co_return std::unexpected{std::move(renewed.error())};
  }
  const auto expires_at = lease_end(lease);
  if (!known->record) {
    if (expires_at) {
      const json patch{{"metadata", {{"annotations", {{labels::kExpiresAt, *expires_at}}}}}};
      auto changed = co_await cluster_->client().patch(kube::kPods, known->pod->namespace_name(), known->pod->name(),
                                                       kube::PatchKind::merge, patch);
      if (!changed) co_return std::unexpected{std::move(changed.error().error)};
      known->pod = std::move(*changed);
    }
    co_return describe_known(*known);
  }
  PodRecord& record = *known->record;
  if (lease.ttl) record.spec.lease.ttl = lease.ttl;
  if (lease.idle_ttl) record.spec.lease.idle_ttl = lease.idle_ttl;
  if (expires_at) record.expires_at = expires_at;
  json data{{"spec", protocol::to_json(record.spec)}};
  if (record.expires_at) data["expires_at"] = *record.expires_at;
  auto changed = co_await change_record(cluster_, &*known, std::move(data));
  if (!changed) co_return std::unexpected{std::move(changed.error())};
  co_return describe_known(*known);
}

Task<Result<PodOptions>> PodDriver::set_network(std::string name, std::string network, std::vector<std::string> allow) {
  auto known = co_await find_sandbox(cluster_, name);
  if (!known) co_return std::unexpected{std::move(known.error())};
  if (known->damage) co_return std::unexpected{std::move(*known->damage)};
  if (!known->record)
    co_return fail(Errc::invalid_field, "\"" + name + "\" is for one run: its network stays as it is", "name");
  SandboxSpec spec = known->record->spec;
  if (network.empty() && allow.empty()) co_return spec.pod;
  if (!network.empty()) spec.pod.network = std::move(network);
  if (!allow.empty()) spec.pod.allow = std::move(allow);
  std::erase_if(spec.pod.allow, [](const std::string& cidr) { return cidr == "0.0.0.0/0" || cidr == "::/0"; });
  if (auto valid = check_pod_options(spec.pod); !valid) co_return std::unexpected{std::move(valid.error())};
  auto changed = co_await change_record(cluster_, &*known, {{"spec", protocol::to_json(spec)}});
  if (!changed) co_return std::unexpected{std::move(changed.error())};
  const std::string& where = known->record->namespace_name;
  const ManifestContext context{
      .namespace_name = where, .prefix = cluster_->options().name_prefix, .sandbox_id = known->record->id};
  auto applied = co_await apply_network(cluster_, spec, context, &*known->config_map);
  if (!applied) co_return std::unexpected{std::move(applied.error())};
  if (known->pod) {
    const std::string kind = network_label(spec.pod);
    json label{{"metadata", {{"labels", {{labels::kNetwork, kind.empty() ? json{} : json(kind)}}}}}};
    auto labelled = co_await cluster_->client().patch(kube::kPods, where, known->pod->name(), kube::PatchKind::merge,
                                                      std::move(label));
    if (!labelled) co_return std::unexpected{std::move(labelled.error().error)};
  }
  if (json exposure = service_exposure(spec.pod); !exposure.empty()) {
    const json patch{{"spec", std::move(exposure)}};
    auto exposed = co_await cluster_->client().patch(kube::kServices, where, service_name(known->config_map->name()),
                                                     kube::PatchKind::merge, patch);
    // A stopped one has none: `start` makes it as the record says.
    if (!exposed && !exposed.error().not_found()) co_return std::unexpected{std::move(exposed.error().error)};
  }
  // A policy of its own that is no longer wanted goes last: nothing is open meanwhile.
  const auto before = owned_objects(known->record->spec, context.prefix);
  const auto after = owned_objects(spec, context.prefix);
  for (const auto& [resource, object] : before) {
    if (resource.plural != kube::kNetworkPolicies.plural) continue;
    const bool stays = std::ranges::any_of(after, [&](const auto& one) { return one.second == object; });
    if (stays) continue;
    if (auto gone = co_await remove_object(resource, where, object); !gone) co_return std::unexpected{gone.error()};
  }
  co_return spec.pod;
}

Task<std::vector<Check>> PodDriver::examine() {
  SandboxSpec spec{.name = "doctor"};
  cluster_->fill_in_images(spec);
  ClusterQuestions questions{.namespace_name = cluster_->namespace_name(),
                             .agent_image = spec.pod.agent_image,
                             .name_prefix = cluster_->options().name_prefix};
  ManifestContext context{.namespace_name = cluster_->namespace_name(),
                          .prefix = cluster_->options().name_prefix,
                          .sandbox_id = new_id("s")};
  if (auto trial = make_pod(spec, context)) questions.trial = std::move(*trial);
  co_return co_await examine_cluster(&cluster_->client(), std::move(questions));
}

}  // namespace skiff::container
