#include "container/drivers/claims/remove.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/cluster/remove.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

bool is_owned_by(const Object& object, const std::string& uid) {
  const json* owners = object.find({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  return std::ranges::any_of(*owners, [&](const json& owner) { return Object{owner}.text({"uid"}) == uid; });
}

}  // namespace

Task<Result<>> remove_claim(Cluster* cluster, SandboxApi api, Object object, std::optional<Object> sandbox,
                            Removal how) {
  const kube::Resource resource = at(is_claim(object) ? kube::kSandboxClaims : kube::kSandboxes, api);
  const std::string sandbox_name = sandbox ? sandbox->name() : object.name();
  std::string sandbox_uid = sandbox ? sandbox->uid() : std::string{};
  const std::string pod = sandbox ? pod_name(*sandbox) : object.name();
  kube::Client& client = cluster->client();
  // By uid, because another Pod may get this name meanwhile, and its end must not be waited for.
  auto found = co_await client.get(kube::kPods, object.namespace_name(), pod);
  if (!found && !found.error().not_found()) co_return std::unexpected{std::move(found.error())};
  std::string pod_uid = found ? found->uid() : std::string{};
  kube::RemoveOptions options{.uid = object.uid()};
  auto removed = co_await client.remove(resource, object.namespace_name(), object.name(), std::move(options));
  // A conflict means that another object has the name now.
  const bool is_gone = !removed && (removed.error().not_found() || removed.error().conflict());
  if (!removed && !is_gone) co_return std::unexpected{std::move(removed.error())};
  const std::string ns = object.namespace_name();
  const auto wait_for = [&](kube::Resource kind, const std::string& name, const std::string& uid) {
    GoneWait wait{
        .resource = kind, .namespace_name = ns, .name = name, .uid = uid, .version = {}, .limit = how.patience};
    return wait_until_gone(&client, std::move(wait));
  };
  if (how.wait) {
    auto gone = co_await wait_for(resource, object.name(), object.uid());
    if (!gone) co_return gone;
    const kube::Resource sandboxes = at(kube::kSandboxes, api);
    if (sandbox_uid.empty()) {
      auto late = co_await client.get(sandboxes, ns, sandbox_name);
      if (late && is_owned_by(*late, object.uid())) sandbox_uid = late->uid();
    }
    if (!sandbox_uid.empty()) {
      gone = co_await wait_for(sandboxes, sandbox_name, sandbox_uid);
      if (!gone) co_return gone;
    }
    if (pod_uid.empty() && !sandbox_uid.empty()) {
      auto late = co_await client.get(kube::kPods, ns, pod);
      if (late && is_owned_by(*late, sandbox_uid)) pod_uid = late->uid();
    }
    if (!pod_uid.empty()) {
      gone = co_await wait_for(kube::kPods, pod, pod_uid);
      if (!gone) co_return gone;
    }
  }
  if (is_claim(object)) co_return Result<>{};  // its template's policy stays
  for (auto& [kind, name] : owned_objects(spec_of(object), cluster->options().name_prefix)) {
    if (kind.plural != kube::kNetworkPolicies.plural) continue;  // its volumes are the controller's
    auto gone = co_await remove_object(cluster, kind, ns, name, object.annotation(kCreation), how);
    if (!gone) co_return gone;
  }
  co_return Result<>{};
}

}  // namespace skiff::container
