#include "container/drivers/claims/pools.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/with_timeout.hpp"
#include "base/id.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/kube/watch.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

PoolStatus status_of(const Object& pool, unsigned claims) {
  const auto number = [&](Object::Path path) { return static_cast<unsigned>(pool.integer(path).value_or(0)); };
  PoolStatus status{.name = pool.name(), .available = number({"status", "readyReplicas"}), .active = claims};
  status.total = number({"status", "replicas"}) + claims;
  // The CRD's default is 1.
  status.target = pool.find({"spec", "replicas"}) == nullptr ? 1 : number({"spec", "replicas"});
  return status;
}

Result<> refuse_egress(const PoolSpec& wanted) {
  if (!wanted.sandbox.has_egress()) return {};
  return fail(Errc::not_supported,
              "--egress: agent-sandbox's controller creates these Pods, and they have no egress by name; "
              "--driver pod makes pools that have",
              "--egress");
}

/// The uid of the template that was created with the pool. A template of another user does not own pools.
std::string template_that_owns(const Object& pool) {
  const json* owners = pool.find({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return {};
  for (const json& owner : *owners) {
    const bool is_ours =
        owner.value("kind", "") == kube::kSandboxTemplates.kind && owner.value("name", "") == pool.name();
    if (is_ours) return owner.value("uid", "");
  }
  return {};
}

/// True if the pool's numbers belong to this generation of its spec, as far as the API version shows it.
bool is_current(const Object& pool, std::int64_t generation) {
  const auto observed = pool.integer({"status", "observedGeneration"});
  return !observed || *observed >= generation;
}

}  // namespace

Task<Result<SandboxApi>> ClaimPools::api() {
  if (api_) co_return *api_;
  for (const SandboxApi candidate : {SandboxApi::v1beta1, SandboxApi::v1alpha1}) {
    SKIFF_CO_TRY(auto served, co_await cluster_->client().serves(at(kube::kSandboxes, candidate)));
    if (!served) continue;
    api_ = candidate;
    co_return candidate;
  }
  co_return fail(Errc::not_supported,
                 "this cluster does not have kubernetes-sigs/agent-sandbox (agents.x-k8s.io, v1beta1 or v1alpha1): "
                 "install it, or use `--driver pod`",
                 "--driver");
}

Task<Result<Object>> ClaimPools::find(std::string name) {
  SKIFF_CO_TRY(auto version, co_await api());
  auto pool = co_await cluster_->client().get(at(kube::kSandboxWarmPools, version), cluster_->namespace_name(), name);
  if (!pool && pool.error().not_found()) co_return std::unexpected{no_such_pool(name)};
  if (!pool) co_return std::unexpected{std::move(pool.error())};
  co_return std::move(*pool);
}

Task<Result<std::string>> ClaimPools::pool_of_template(std::string template_name) {
  SKIFF_CO_TRY(auto version, co_await api());
  SKIFF_CO_TRY(auto pools,
               co_await cluster_->client().list(at(kube::kSandboxWarmPools, version), cluster_->namespace_name()));
  std::erase_if(pools.items,
                [&](const Object& pool) { return pool.text({"spec", "sandboxTemplateRef", "name"}) != template_name; });
  if (pools.items.empty()) {
    co_return fail(Errc::not_found,
                   "no pool creates sandboxes from the template \"" + template_name + "\": `skiff pool create " +
                       template_name + " --template " + template_name +
                       " --size 0` makes one that makes them on demand",
                   "--template");
  }
  const auto ready = [](const Object& pool) { return pool.integer({"status", "readyReplicas"}).value_or(0); };
  co_return std::ranges::max_element(pools.items, {}, ready)->name();
}

Task<Result<Object>> ClaimPools::plan_template(const PoolSpec* wanted, SandboxApi api) {
  SKIFF_CO_TRY(auto key, co_await cluster_->signing_key(true));
  SKIFF_CO_TRY(auto pem, key.public_pem());
  ManifestContext context;
  context.namespace_name = cluster_->namespace_name();
  context.prefix = cluster_->options().name_prefix;
  context.public_key = std::move(pem);
  context.assigns_ids = co_await cluster_->assigns_ids();
  co_return create_template(*wanted, context, api);
}

Task<Result<std::vector<Object>>> ClaimPools::manifest_of(PoolSpec wanted) {
  SKIFF_CO_TRY_VOID(check_pool(wanted));
  SKIFF_CO_TRY_VOID(refuse_egress(wanted));
  SKIFF_CO_TRY_VOID(cluster_->fill_in_images(wanted.sandbox));
  SKIFF_CO_TRY(auto version, co_await api());
  ManifestContext context;
  context.namespace_name = cluster_->namespace_name();
  std::vector<Object> planned;
  SKIFF_CO_TRY(auto entrance, create_entrance(wanted, context, {}));
  if (entrance) planned.push_back(std::move(*entrance));
  SKIFF_CO_TRY(auto made, co_await plan_template(&wanted, version));
  planned.push_back(std::move(made));
  Object trial = planned.back();
  auto taken =
      co_await cluster_->client().create(at(kube::kSandboxTemplates, version), std::move(trial), {.dry_run = true});
  // Applying the template again would change it, so an existing one is not an error.
  if (!taken && !taken.error().already_exists()) co_return std::unexpected{std::move(taken.error())};
  co_return planned;
}

Task<Result<Object>> ClaimPools::make_template(const PoolSpec* wanted, SandboxApi api, std::string creation) {
  SKIFF_CO_TRY(auto body, co_await plan_template(wanted, api));
  mark_creation(body, creation);
  auto made = co_await cluster_->client().create(at(kube::kSandboxTemplates, api), std::move(body));
  if (!made && made.error().already_exists()) {
    co_return fail(Errc::already_exists,
                   "there is a SandboxTemplate \"" + wanted->name + "\": take another name, or give it as --template");
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  ManifestContext context;
  context.namespace_name = cluster_->namespace_name();
  // The policy of an older pool of that name may still be there: it goes with its template, and only after it.
  SKIFF_CO_TRY(auto entrance, create_entrance(*wanted, context, "-" + creation));
  if (!entrance) co_return std::move(*made);
  entrance->json["metadata"]["ownerReferences"] = json::array({made->owner_reference()});
  auto opened = co_await cluster_->client().create(kube::kNetworkPolicies, std::move(*entrance));
  if (!opened) co_return std::unexpected{std::move(opened.error())};
  co_return std::move(*made);
}

Task<Result<Object>> ClaimPools::make(const PoolSpec* wanted, SandboxApi api, std::string creation) {
  ManifestContext context;
  context.namespace_name = cluster_->namespace_name();
  std::optional<Object> made_template;
  std::string template_name = wanted->sandbox.pod.template_name;
  if (template_name.empty()) {
    SKIFF_CO_TRY(auto made, co_await make_template(wanted, api, creation));
    made_template = std::move(made);
    template_name = wanted->name;
  }
  Object pool = create_warm_pool(*wanted, context, api, template_name);
  mark_creation(pool, creation);
  if (made_template) pool.json["metadata"]["ownerReferences"] = json::array({made_template->owner_reference()});
  auto made = co_await cluster_->client().create(at(kube::kSandboxWarmPools, api), std::move(pool));
  if (made) co_return std::move(*made);
  if (!made.error().already_exists()) co_return std::unexpected{std::move(made.error())};
  co_return std::unexpected{pool_exists(wanted->name)};
}

Task<Result<bool>> ClaimPools::take_back(std::string name, SandboxApi api, std::string creation,
                                         std::chrono::milliseconds patience) {
  kube::Client& client = cluster_->client();
  auto pool = co_await client.get(at(kube::kSandboxWarmPools, api), cluster_->namespace_name(), name);
  if (!pool && !pool.error().not_found()) co_return std::unexpected{std::move(pool.error())};
  if (pool && is_marked(*pool, creation)) {
    auto gone = co_await remove_within(std::move(name), patience);
    if (gone || gone.error().code != Errc::timeout) co_return gone ? Result<bool>{true} : std::move(gone);
    co_return false;
  }
  // The template is created first, so it may exist without a pool.
  auto alone = co_await client.get(at(kube::kSandboxTemplates, api), cluster_->namespace_name(), name);
  if (!alone && !alone.error().not_found()) co_return std::unexpected{std::move(alone.error())};
  if (!alone || !is_marked(*alone, creation)) co_return true;
  kube::RemoveOptions options{.uid = alone->uid()};
  auto removed =
      co_await client.remove(at(kube::kSandboxTemplates, api), cluster_->namespace_name(), name, std::move(options));
  if (!removed && !removed.error().not_found()) co_return std::unexpected{std::move(removed.error())};
  co_return true;
}

Task<Result<PoolStatus>> ClaimPools::wait_until_full(Object pool, SteadyTime deadline, Progress progress) {
  SKIFF_CO_TRY(auto version, co_await api());
  kube::WatchOptions options{.resource = at(kube::kSandboxWarmPools, version),
                             .namespace_name = cluster_->namespace_name(),
                             .field_selector = "metadata.name=" + pool.name(),
                             .resource_version = pool.resource_version()};
  kube::Watch watch{&cluster_->client(), std::move(options)};
  const std::int64_t generation = pool.integer({"metadata", "generation"}).value_or(0);
  for (;;) {
    const PoolStatus status = status_of(pool, 0);
    if (is_current(pool, generation) && status.available == status.target && status.total == status.target) break;
    progress(Phase::starting, std::to_string(status.available) + " of " + std::to_string(status.target) + " ready");
    auto event = co_await within(deadline, watch.next());
    if (!event) {
      Error late = not_full_in_time(pool.name(), status.available, status.target);
      late.message += ", `kubectl get pods` shows the reason";
      co_return std::unexpected{std::move(late)};
    }
    if (!*event) co_return std::unexpected{std::move(event->error())};
    if ((*event)->objects.empty() || (*event)->kind == kube::WatchEvent::Kind::deleted) {
      co_return fail(Errc::not_found, "pool \"" + pool.name() + "\" was removed meanwhile");
    }
    pool = std::move((*event)->objects.front());
  }
  progress(Phase::ready, "");
  co_return co_await status(pool.name());
}

Task<Result<PoolStatus>> ClaimPools::create(PoolSpec wanted, Progress progress) {
  SKIFF_CO_TRY_VOID(check_pool(wanted));
  SKIFF_CO_TRY_VOID(refuse_egress(wanted));
  // An existing template names its images itself.
  if (wanted.sandbox.pod.template_name.empty()) {
    SKIFF_CO_TRY_VOID(cluster_->fill_in_images(wanted.sandbox));
  }
  const SteadyTime deadline = std::chrono::steady_clock::now() + wanted.sandbox.wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  SKIFF_CO_TRY(auto version, co_await answered_by(deadline, api()));
  const std::string creation = new_id("c");
  const std::string name = wanted.name;
  auto work = create_and_fill(std::move(wanted), version, creation, deadline, std::move(progress));
  co_return co_await undo_unless(
      std::move(work), [&](std::chrono::milliseconds patience) { return take_back(name, version, creation, patience); },
      kLateArrival, deadline + kHostPatience);
}

Task<Result<PoolStatus>> ClaimPools::create_and_fill(PoolSpec wanted, SandboxApi api, std::string creation,
                                                     SteadyTime deadline, Progress progress) {
  SKIFF_CO_TRY(auto made, co_await make(&wanted, api, std::move(creation)));
  co_return co_await wait_until_full(std::move(made), deadline, std::move(progress));
}

Task<Result<PoolStatus>> ClaimPools::scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                           Progress progress) {
  if (size > kLargestPool) co_return fail(Errc::invalid_field, "--size: expected 0 to 1000", "--size");
  const SteadyTime deadline = std::chrono::steady_clock::now() + wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  auto work = scale_and_wait(std::move(name), size, deadline, std::move(progress));
  co_return co_await answered_by(deadline, std::move(work));
}

Task<Result<PoolStatus>> ClaimPools::scale_and_wait(std::string name, unsigned size, SteadyTime deadline,
                                                    Progress progress) {
  SKIFF_CO_TRY(auto version, co_await api());
  const json patch{{"spec", {{"replicas", size}}}};
  auto patched = co_await cluster_->client().patch(at(kube::kSandboxWarmPools, version), cluster_->namespace_name(),
                                                   name, kube::PatchKind::merge, patch);
  if (!patched && patched.error().not_found()) co_return std::unexpected{no_such_pool(name)};
  if (!patched) co_return std::unexpected{std::move(patched.error())};
  co_return co_await wait_until_full(std::move(*patched), deadline, std::move(progress));
}

Task<Result<std::map<std::string, unsigned>>> ClaimPools::count_claims() {
  SKIFF_CO_TRY(auto version, co_await api());
  SKIFF_CO_TRY(auto claims,
               co_await cluster_->client().list(at(kube::kSandboxClaims, version), cluster_->namespace_name()));
  std::map<std::string, unsigned> counts;
  for (const Object& claim : claims.items) {
    std::string pool = claim.text({"spec", "warmPoolRef", "name"});
    if (pool.empty()) pool = claim.text({"spec", "warmpool"});
    // The first releases store only the template, which has the pool's name if `pool create` created it.
    if (pool.empty()) pool = claim.text({"spec", "sandboxTemplateRef", "name"});
    if (!claim.is_being_deleted()) ++counts[pool];
  }
  co_return counts;
}

Task<Result<PoolStatus>> ClaimPools::status(std::string name) {
  SKIFF_CO_TRY(auto pool, co_await find(name));
  SKIFF_CO_TRY(auto claims, co_await count_claims());
  co_return status_of(pool, claims[name]);
}

Task<Result<std::vector<PoolStatus>>> ClaimPools::list() {
  SKIFF_CO_TRY(auto version, co_await api());
  SKIFF_CO_TRY(auto pools,
               co_await cluster_->client().list(at(kube::kSandboxWarmPools, version), cluster_->namespace_name()));
  SKIFF_CO_TRY(auto claims, co_await count_claims());
  std::vector<PoolStatus> all;
  for (const Object& pool : pools.items) all.push_back(status_of(pool, claims[pool.name()]));
  std::ranges::sort(all, {}, &PoolStatus::name);
  co_return all;
}

Task<Result<bool>> ClaimPools::remove(std::string name) {
  return remove_within(std::move(name), kRemovalTime);
}

Task<Result<bool>> ClaimPools::remove_within(std::string name, std::chrono::milliseconds patience) {
  SKIFF_CO_TRY(auto version, co_await api());
  kube::Client& client = cluster_->client();
  const kube::Resource pools = at(kube::kSandboxWarmPools, version);
  const kube::Resource templates = at(kube::kSandboxTemplates, version);
  auto pool = co_await client.get(pools, cluster_->namespace_name(), name);
  if (!pool && pool.error().not_found()) co_return false;
  if (!pool) co_return std::unexpected{std::move(pool.error())};
  const std::string owner = template_that_owns(*pool);
  // Delete in the foreground: the pool is gone when its waiting sandboxes are. Taken sandboxes belong to their claims.
  kube::RemoveOptions foreground{.propagation = "Foreground", .uid = pool->uid()};
  auto removed = co_await client.remove(pools, cluster_->namespace_name(), name, std::move(foreground));
  if (removed && !owner.empty()) {
    kube::RemoveOptions options{.uid = owner};
    (void)co_await client.remove(templates, cluster_->namespace_name(), name, std::move(options));
  }
  if (!removed && !removed.error().not_found()) co_return std::unexpected{std::move(removed.error())};
  for (const kube::Resource& resource : {pools, templates}) {
    if (resource.plural == templates.plural && owner.empty()) continue;
    GoneWait wait{.resource = resource, .namespace_name = cluster_->namespace_name(), .name = name, .limit = patience};
    SKIFF_CO_TRY_VOID(co_await wait_until_gone(&client, std::move(wait)));
  }
  co_return true;
}

}  // namespace skiff::container
