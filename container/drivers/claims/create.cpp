#include "container/drivers/claims/create.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_error.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/network_policies.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

/// An object's annotations may have 256 KiB together; the spec is one of them.
constexpr std::size_t kLongestClaimSpec = std::size_t{240} << 10U;

bool wants_claim(const SandboxSpec& spec) {
  return !spec.pod.pool.empty() || !spec.pod.template_name.empty();
}

/// Checks that the controller can create the sandbox: it supports only headless Services.
Result<> check_spec(const SandboxSpec& spec) {
  SKIFF_TRY_VOID(check_name(spec.name));
  SKIFF_TRY_VOID(check_size(spec));
  SKIFF_TRY_VOID(labels::check_user_labels(spec.labels));
  SKIFF_TRY_VOID(check_pod_options(spec.pod));
  if (spec.pod.namespace_per_sandbox || !spec.pod.quota.empty()) {
    return fail(Errc::invalid_field, "--namespace-per-sandbox and --quota are for `--driver pod`",
                "--namespace-per-sandbox");
  }
  if (spec.pod.service == ServiceKind::nodeport || spec.pod.service == ServiceKind::loadbalancer) {
    return fail(Errc::invalid_field, "--service: agent-sandbox creates only headless services", "--service");
  }
  if (wants_claim(spec) && spec.pod.network != "open") {
    return fail(Errc::invalid_field, "--network: the template decides it; give it to `skiff pool create`", "--network");
  }
  const std::size_t size = protocol::to_json(spec).size();
  if (size > kLongestClaimSpec) {
    return fail(Errc::invalid_field,
                "--env, --env-file and --pod-overrides: " + std::to_string(size / 1024) +
                    " KiB in all, and what agent-sandbox makes holds at most 240; a volume (config/NAME:PATH) or the "
                    "image may hold the rest",
                "--env-file");
  }
  return wants_claim(spec) ? check_fits_pool(spec, nullptr) : Result<>{};
}

Task<Result<ClaimSource>> source_of(ClaimPools* pools, SandboxSpec spec, SandboxApi api) {
  ClaimSource source{.pool = spec.pod.pool, .template_name = spec.pod.template_name};
  if (api == SandboxApi::v1beta1 && source.pool.empty()) {
    SKIFF_CO_TRY(auto pool, co_await pools->pool_of_template(source.template_name));
    source.pool = std::move(pool);
    co_return source;
  }
  if (source.pool.empty()) co_return source;
  auto pool = co_await pools->find(source.pool);
  // A user who may not read pools may still claim from one: the controller then reports what is wrong.
  if (!pool && (pool.error().code != Errc::permission_denied || api == SandboxApi::v1alpha1)) {
    co_return std::unexpected{std::move(pool.error())};
  }
  if (!pool) co_return source;
  const std::string template_name = pool->text({"spec", "sandboxTemplateRef", "name"});
  if (!source.template_name.empty() && source.template_name != template_name) {
    co_return fail(Errc::invalid_field,
                   "--template: pool \"" + source.pool + "\" is of template \"" + template_name + "\"", "--template");
  }
  source.template_name = template_name;
  co_return source;
}

/// The public key in PEM; empty if there is no key and none is to be created.
Task<Result<std::string>> public_key(Cluster* cluster, bool makes_key) {
  auto key = co_await cluster->signing_key(makes_key);
  if (key) co_return key->public_pem();
  if (makes_key || key.error().code != Errc::not_found) co_return std::unexpected{std::move(key.error())};
  co_return std::string{};
}

kube::Resource resource_of(const ClaimPlan& plan) {
  return at(is_claim(plan.object) ? kube::kSandboxClaims : kube::kSandboxes, plan.api);
}

/// The first releases do not support `spec.warmpool`: there a claim takes from any pool of its template.
Task<kube::Outcome<Object>> create_claim(Cluster* cluster, kube::Resource resource, Object object, bool dry_run) {
  auto made = co_await cluster->client().create(resource, object, {.dry_run = dry_run});
  if (made || !made.error().status.message.contains(R"("spec.warmpool")")) co_return made;
  object.json["spec"].erase("warmpool");
  co_return co_await cluster->client().create(resource, std::move(object), {.dry_run = dry_run});
}

}  // namespace

Task<Result<ClaimPlan>> plan_claim(Cluster* cluster, ClaimPools* pools, SandboxSpec spec, ClaimRequest request) {
  SKIFF_CO_TRY_VOID(check_spec(spec));
  if (!wants_claim(spec)) {
    SKIFF_CO_TRY_VOID(cluster->fill_in_images(spec));
  }
  SKIFF_CO_TRY(auto api, co_await pools->api());
  SKIFF_CO_TRY(auto pem, co_await public_key(cluster, request.makes_key));
  ManifestContext context{.namespace_name = cluster->namespace_name(),
                          .prefix = cluster->options().name_prefix,
                          .sandbox_id = std::move(request.creation),
                          .public_key = std::move(pem)};
  context.assigns_ids = co_await cluster->assigns_ids();
  if (wants_claim(spec)) {
    SKIFF_CO_TRY(auto source, co_await source_of(pools, spec, api));
    co_return ClaimPlan{.api = api, .object = create_claim(spec, context, api, source, request.until)};
  }
  SKIFF_CO_TRY(auto sandbox, create_sandbox(spec, context, api, request.until));
  SKIFF_CO_TRY(auto policies, create_network_policies(spec, context));
  co_return ClaimPlan{.api = api, .object = std::move(sandbox), .policies = std::move(policies)};
}

Task<Result<Object>> create_planned(Cluster* cluster, ClaimPlan plan) {
  const std::string name = labels::get(plan.object, labels::kName);
  const std::string creation = plan.object.annotation(kCreation);
  const std::string object_name = plan.object.name();
  const kube::Resource resource = resource_of(plan);
  auto made = co_await create_claim(cluster, resource, std::move(plan.object), false);
  if (!made && (made.error().may_have_happened || made.error().already_exists())) {
    // After a lost answer the object may exist.
    auto found = co_await cluster->client().get(resource, cluster->namespace_name(), object_name);
    if (found && is_marked(*found, creation)) made = std::move(found);
  }
  if (!made && made.error().already_exists()) {
    co_return fail(Errc::sandbox_conflict, "there is a sandbox \"" + name + "\"", "name");
  }
  if (!made) co_return std::unexpected{creation_error(std::move(made.error()))};
  for (Object& policy : plan.policies) {
    // The sandbox's own policy is deleted with it; other policies are shared.
    if (!policy.label(labels::kSandbox).empty()) {
      policy.json["metadata"]["ownerReferences"] = json::array({made->owner_reference()});
    }
    // A remaining policy of an earlier sandbox of this name does not select this one, so replace it.
    SKIFF_CO_TRY_VOID(co_await cluster->client().apply(kube::kNetworkPolicies, std::move(policy), {.force = true}));
  }
  co_return std::move(*made);
}

Task<Result<std::vector<Object>>> try_planned(Cluster* cluster, ClaimPlan plan) {
  const kube::Resource resource = resource_of(plan);
  std::vector<std::pair<kube::Resource, Object>> trials{{resource, plan.object}};
  for (const Object& policy : plan.policies) trials.emplace_back(kube::kNetworkPolicies, policy);
  for (auto& [kind, object] : trials) {
    auto taken = co_await create_claim(cluster, kind, std::move(object), true);
    if (!taken && !taken.error().already_exists()) co_return std::unexpected{creation_error(std::move(taken.error()))};
  }
  std::vector<Object> objects{std::move(plan.object)};
  for (Object& policy : plan.policies) objects.push_back(std::move(policy));
  co_return objects;
}

}  // namespace skiff::container
