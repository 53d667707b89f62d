#include "container/drivers/pods/driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/with_timeout.hpp"
#include "base/id.hpp"
#include "base/scope_counter.hpp"
#include "container/agent/client.hpp"
#include "container/cluster/checks.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/create.hpp"
#include "container/drivers/pods/egress/egress.hpp"
#include "container/drivers/pods/network.hpp"
#include "container/drivers/pods/objects.hpp"
#include "container/drivers/pods/remove.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/net/time.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Number of sandboxes that are deleted at the same time; any number may wait for their ends.
constexpr std::size_t kRemovalsAtOnce = 32;
/// The longest lease that the flags permit.
constexpr milliseconds kLongestLease = std::chrono::days{365};

/// The length of the renewed lease in an agent's answer; nullopt without one, or if the answer is invalid.
std::optional<milliseconds> renewed_by(const json& answer) {
  const json lease = object_at(answer, "lease");
  const std::optional<std::uint64_t> ttl_ms = number_at(lease, "ttl_ms");
  if (!ttl_ms || *ttl_ms > static_cast<std::uint64_t>(kLongestLease.count())) return std::nullopt;
  return milliseconds{static_cast<std::int64_t>(*ttl_ms)};
}

}  // namespace

PodDriver::PodDriver(Cluster* cluster, ReachOptions reach)
    : cluster_{cluster},
      reach_{cluster, std::move(reach)},
      pools_{cluster, &reach_},
      removals_{cluster->executor(), kRemovalsAtOnce} {}

Task<> PodDriver::close() {
  co_await pools_.close();
  co_await reach_.stop();
  co_await cluster_->close();
}

void PodDriver::keep_copies() {
  cluster_->watch_objects();
}

std::unique_ptr<ListWatch> PodDriver::watch_list(Executor /*executor*/, std::function<void()> changed) {
  WatchedObjects* const watched = cluster_->watched();
  return watched == nullptr ? nullptr : watched->watch(std::move(changed));
}

Task<> PodDriver::await_copies(SteadyTime until) {
  WatchedObjects* const watched = cluster_->watched();
  if (watched != nullptr) co_await watched->await_first(until);
}

// --- making ---------------------------------------------------------------------------------------------------------

Task<Result<>> PodDriver::ask_agent(const KnownPod* known) {
  SKIFF_CO_TRY(auto endpoint, co_await endpoint_of(known, {}));
  AgentClient agent{cluster_->executor(), std::move(endpoint)};
  SKIFF_CO_TRY_VOID(co_await agent.get("/readyz"));
  co_return Result<>{};
}

Task<Result<KnownPod>> PodDriver::wait_for_agent(KnownPod known, SteadyTime deadline, Progress progress) {
  if (!known.is_bound) {
    auto answered = co_await ask_agent(&known);
    if (!answered) {
      co_return std::unexpected{bring_up_failure(FailureReason::not_ready, std::move(answered.error().message))};
    }
  }
  if (known.is_bound && known.record) {
    SKIFF_CO_TRY(known, co_await note_taken(std::move(known), deadline, progress));
  } else if (known.record) {
    SKIFF_CO_TRY_VOID(co_await note_up(cluster_, &known, lease_end_text(known.record->spec.lease)));
  }
  progress(Phase::ready, "");
  co_return known;
}

Task<Result<KnownPod>> PodDriver::wait_until_up(KnownPod known, SteadyTime deadline, Progress progress) {
  if (known.record && known.record->spec.pod.wait_address) {
    progress(Phase::starting, "external address");
    const std::string service = service_name(known.config_map->name());
    SKIFF_CO_TRY(auto addressed,
                 co_await wait_for_address(&cluster_->client(), known.record->namespace_name, service, deadline));
    known.service = std::move(addressed);
  }
  auto up = co_await within(deadline, wait_for_agent(std::move(known), deadline, std::move(progress)));
  if (up) co_return std::move(*up);
  co_return std::unexpected{bring_up_failure(FailureReason::not_ready, "its agent does not answer in time")};
}

Task<Result<ManifestContext>> PodDriver::prepare(SandboxSpec* spec) {
  if (!spec->pod.pool.empty()) {
    SKIFF_CO_TRY(auto whole, co_await pools_.complete(std::move(*spec)));
    *spec = std::move(whole);
    spec->is_one_shot = false;  // it needs a record to be found, because its Pod keeps its name in the pool
  }
  co_return co_await prepare_sandbox(cluster_, spec);
}

Task<Result<Sandbox>> PodDriver::create(SandboxSpec spec, Progress progress) {
  const SteadyTime deadline = steady_clock::now() + spec.wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  SKIFF_CO_TRY(auto context, co_await answered_by(deadline, prepare(&spec)));
  const std::string name = spec.name;
  const std::string object_name = cluster_->object_name(name);
  const bool is_one_shot = spec.is_one_shot;
  PodRecord record{.spec = std::move(spec),
                   .id = context.sandbox_id,
                   .namespace_name = context.namespace_name,
                   .pod = object_name,
                   .stopped = false,
                   .expires_at = {}};
  // The lease begins when the agent starts. A sandbox for one run has no record that says so.
  record.expires_at = lease_end_text(record.spec.lease, record.spec.wait);
  const bool needs_more =
      record.spec.pod.namespace_per_sandbox || !owned_objects(record.spec, cluster_->options().name_prefix).empty();
  if (is_one_shot && needs_more) {
    co_return fail(Errc::invalid_field, "a sandbox of `skiff run` has only a Pod: use --keep NAME to give it more",
                   "--keep");
  }
  const std::string id = record.id;
  const SteadyTime latest = steady_clock::now() + record.spec.wait + kHostPatience;
  auto work = make(std::move(record), is_one_shot, std::move(context), std::move(progress));
  auto known = co_await undo_unless(
      std::move(work), [&](milliseconds patience) { return remove_in_haste(this, name, id, patience); }, kLateArrival,
      latest);
  if (!known) co_return std::unexpected{std::move(known.error())};
  co_return describe_known(*known);
}

Task<Result<KnownPod>> PodDriver::make(PodRecord record, bool is_one_shot, ManifestContext context, Progress progress) {
  const SteadyTime deadline = steady_clock::now() + record.spec.wait;
  auto known = co_await create_sandbox(cluster_, &pools_, std::move(record), is_one_shot, std::move(context), progress);
  if (!known) co_return known;
  co_return co_await wait_until_up(std::move(*known), deadline, std::move(progress));
}

Task<Result<std::vector<Object>>> PodDriver::manifest(SandboxSpec spec, bool to_be_applied) {
  if (spec.has_egress()) {
    co_return fail(Errc::not_supported, "a manifest cannot have the credential of egress by name: use skiff up",
                   "--egress");
  }
  SKIFF_CO_TRY(auto context, co_await prepare(&spec));
  context.assigns_ids = co_await cluster_->assigns_ids();
  auto key = co_await cluster_->signing_key(to_be_applied);
  if (key) {
    SKIFF_CO_TRY(auto public_key, key->public_pem());
    context.public_key = std::move(public_key);
  } else if (to_be_applied || key.error().code != Errc::not_found) {
    co_return std::unexpected{std::move(key.error())};
  }
  co_return create_manifest(spec, context, cluster_->namespace_name());
}

// --- looking ------------------------------------------------------------------------------------------------------

Task<Result<KnownPod>> PodDriver::find_running(std::string name, Cluster::Reading reading) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name), reading));
  co_return co_await check_running(std::move(known));
}

Task<Result<KnownPod>> PodDriver::check_running(KnownPod known) {
  const Sandbox sandbox = describe_known(known);
  if (sandbox.state != SandboxState::running) co_return std::unexpected{not_running(sandbox)};
  // The process that created it was killed before it noted that the sandbox is up. It is in use now, so note it; a
  // caller without that right may use it, too.
  if (known.record && !known.record->was_up && !cluster_->is_in_doubt()) {
    (void)co_await note_up(cluster_, &known, known.record->expires_at);
  }
  co_return known;
}

Task<Result<Sandbox>> PodDriver::get(std::string name) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name)));
  const Sandbox sandbox = describe_known(known);
  const auto service = sandbox.details.find("service");
  if (service != sandbox.details.end() && !cluster_->is_in_doubt()) {
    auto found = co_await cluster_->client().get(kube::kServices, known.record->namespace_name, service->second);
    if (found) known.service = std::move(*found);
  }
  co_return describe_known(known);
}

Task<Result<Sandbox>> PodDriver::get_recent(std::string name) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name), Cluster::Reading::recent));
  co_return describe_known(known);
}

std::unique_ptr<Freshness> PodDriver::freshness(const std::string& name) {
  WatchedObjects* const watched = cluster_->watched();
  if (watched == nullptr) return nullptr;
  const std::string object_name = cluster_->object_name(name);
  const auto record = watched->config_maps().find(object_name);
  if (!record || record->text({"data", "namespace"}) != cluster_->namespace_name()) return nullptr;
  return watched->freshness(object_name, record->text({"data", "pod"}));
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
  SKIFF_CO_TRY_VOID(check_grant(grant));
  auto key = co_await cluster_->signing_key_of(*known->pod);
  if (!key) co_return std::unexpected{std::move(key.error())};
  SKIFF_CO_TRY(auto target, co_await target_of(known));
  const std::string id = known->pod->label(labels::kSandbox);
  const std::string owner = labels::get(*known->pod, labels::kOwner);
  std::function<Result<std::string>()> token = [key = std::move(*key), id, owner, grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  co_return co_await reach_.find(std::move(target), std::move(token));
}

Task<Result<Endpoint>> PodDriver::endpoint(std::string name, TokenGrant grant) {
  if (cluster_->watched() == nullptr && reach_.goes_by_name()) {
    co_return co_await endpoint_by_record(std::move(name), std::move(grant));
  }
  SKIFF_CO_TRY(auto known, co_await find_running(std::move(name), Cluster::Reading::recent));
  co_return co_await endpoint_of(&known, std::move(grant));
}

Task<Result<Endpoint>> PodDriver::endpoint_by_record(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto known, co_await find_sealed(cluster_, name));
  if (!known.is_sealed) {
    SKIFF_CO_TRY(known, co_await check_running(std::move(known)));
    co_return co_await endpoint_of(&known, std::move(grant));
  }
  auto endpoint = co_await endpoint_of(&known, grant);
  if (endpoint || endpoint.error().code != Errc::sandbox_not_running) co_return endpoint;
  // The Pod says better why, or it is another one meanwhile.
  const std::string uid = known.pod->uid();
  SKIFF_CO_TRY(known, co_await find_running(std::move(name)));
  if (known.pod->uid() == uid) co_return endpoint;
  co_return co_await endpoint_of(&known, std::move(grant));
}

Task<Result<protocol::Stream>> PodDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto known, co_await find_running(std::move(name), Cluster::Reading::recent));
  SKIFF_CO_TRY(auto target, co_await target_of(&known));
  co_return co_await reach_.dial(std::move(target), port);
}

// --- its life -------------------------------------------------------------------------------------------------------

Task<Result<>> PodDriver::stop(std::string name, Removal how) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, name));
  if (known.damage) co_return std::unexpected{std::move(*known.damage)};
  if (!known.record) {
    co_return fail(Errc::invalid_field,
                   "\"" + name + "\" belongs to `skiff run` and cannot be stopped and started again", "name");
  }
  co_return co_await stop_known(std::move(known), std::move(how));
}

Task<Result<>> PodDriver::stop_known(KnownPod known, Removal how) {
  const ScopeCounter counted{under_way_};
  // Write the record first, so that readers see the intention.
  SKIFF_CO_TRY_VOID(co_await change_record(cluster_, &known, {{"stopped", "true"}, {"expires_at", nullptr}}));
  SKIFF_CO_TRY(auto begun, co_await begin_stop(cluster_, &known, how, under_way_ == 1));
  co_return co_await finish_removal(cluster_, std::move(begun), std::move(how));
}

Task<Result<>> PodDriver::set_label(std::string name, std::string label, std::string value) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name)));
  if (known.damage) co_return std::unexpected{std::move(*known.damage)};
  if (!known.record) co_return fail(Errc::not_supported, "what belongs to `skiff run` keeps its labels");
  co_return co_await change_label(cluster_, std::move(known), std::move(label), std::move(value));
}

Task<Result<bool>> PodDriver::remove(std::string name, Removal how) {
  return remove_if(std::move(name), {}, std::move(how));
}

Task<Result<std::optional<Departure>>> PodDriver::begin_removing(std::string name, std::string id, Removal how) {
  const Semaphore::Permit permit = co_await removals_.acquire();
  auto known = co_await find_to_remove(cluster_, name, std::move(id));
  if (!known && known.error().code == Errc::sandbox_not_found) co_return std::nullopt;
  if (!known) co_return std::unexpected{std::move(known.error())};
  if (how.only_if) {
    if (known->record && !known->record->stopped) {
      const PodRecord& record = *known->record;
      SKIFF_CO_TRY(auto pod, co_await find_pod(cluster_, record.namespace_name, record.pod, record.id));
      known->pod = std::move(pod);
    }
    if (!how.only_if(describe_known(*known))) co_return std::nullopt;
  }
  SKIFF_CO_TRY(auto begun, co_await begin_removal(cluster_, &*known, std::move(how), under_way_ == 1));
  co_return begun;
}

Task<Result<bool>> PodDriver::remove_if(std::string name, std::string id, Removal how) {
  const ScopeCounter counted{under_way_};
  SKIFF_CO_TRY(auto begun, co_await begin_removing(std::move(name), std::move(id), how));
  if (!begun) co_return false;
  SKIFF_CO_TRY_VOID(co_await finish_removal(cluster_, std::move(*begun), std::move(how)));
  co_return true;
}

Task<Result<Sandbox>> PodDriver::extend(std::string name, Lease lease, milliseconds wait) {
  const auto waiting = cluster_->client().transport().wait_until(steady_clock::now() + wait);
  SKIFF_CO_TRY(auto known, co_await find_running(name));
  SKIFF_CO_TRY(auto endpoint, co_await endpoint_of(&known, {}));
  AgentClient agent{cluster_->executor(), std::move(endpoint)};
  std::string body = protocol::to_json(lease);
  SKIFF_CO_TRY(auto renewed, co_await agent.post("/v1/lease", std::move(body)));
  // Without a time the agent renews its own lease, whose length others may have changed.
  const auto expires_at = lease_end_text({.ttl = lease.ttl ? lease.ttl : renewed_by(renewed)});
  if (!known.record) {
    if (expires_at) {
      const json patch{{"metadata", {{"annotations", {{labels::kExpiresAt, *expires_at}}}}}};
      SKIFF_CO_TRY(auto changed, co_await cluster_->client().patch(kube::kPods, known.pod->namespace_name(),
                                                                   known.pod->name(), kube::PatchKind::merge, patch));
      known.pod = std::move(changed);
    }
    co_return describe_known(known);
  }
  auto changed = co_await change_spec(cluster_, std::move(known), [&](PodRecord& record) {
    if (lease.ttl) record.spec.lease.ttl = lease.ttl;
    if (lease.idle_ttl) record.spec.lease.idle_ttl = lease.idle_ttl;
    if (expires_at) record.expires_at = expires_at;
  });
  if (!changed) co_return std::unexpected{std::move(changed.error())};
  co_return describe_known(*changed);
}

Task<Result<PodOptions>> PodDriver::set_network(std::string name, std::string network, std::vector<std::string> allow) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, name));
  if (known.damage) co_return std::unexpected{std::move(*known.damage)};
  if (!known.record)
    co_return fail(Errc::invalid_field, "\"" + name + "\" belongs to `skiff run`: its network cannot be changed",
                   "name");
  if (network.empty() && allow.empty()) co_return known.record->spec.pod;
  if (known.record->spec.has_egress()) {
    co_return fail(Errc::invalid_field,
                   "\"" + name + "\" has egress by name, which stays closed: change its names with --egress",
                   "--network");
  }
  co_return co_await change_network(cluster_, std::move(known), std::move(network), std::move(allow));
}

Task<bool> PodDriver::offers_egress() {
  return has_egress_proxy(cluster_);
}

Task<Result<EgressState>> PodDriver::set_egress(std::string name, EgressChange change) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name)));
  co_return co_await change_egress(cluster_, std::move(known), std::move(change));
}

Task<Result<>> PodDriver::follow_egress_log(std::string name, std::function<Result<>(std::string_view lines)> take) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name)));
  co_return co_await container::follow_egress_log(cluster_, std::move(known), std::move(take));
}

Task<Result<std::string>> PodDriver::egress_log(std::string name) {
  SKIFF_CO_TRY(auto known, co_await find_sandbox(cluster_, std::move(name)));
  co_return co_await read_egress_log(cluster_, std::move(known));
}

Task<std::vector<Check>> PodDriver::examine() {
  SandboxSpec spec{.name = "doctor"};
  // Without an agent image, which has its own check, use any other image in the trial.
  if (!cluster_->fill_in_images(spec)) spec.pod.agent_image = spec.image;
  ClusterQuestions questions{.namespace_name = cluster_->namespace_name(),
                             .agent_image = cluster_->options().agent_image,
                             .name_prefix = cluster_->options().name_prefix};
  ManifestContext context{.namespace_name = cluster_->namespace_name(),
                          .prefix = cluster_->options().name_prefix,
                          .sandbox_id = new_id("s")};
  context.assigns_ids = co_await cluster_->assigns_ids();
  if (auto trial = create_pod(spec, context)) questions.trial = std::move(*trial);
  co_return co_await examine_cluster(&cluster_->client(), std::move(questions));
}

}  // namespace skiff::container
