#include "container/cluster/remove.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// True if the answer to the deletion shows that the object is gone.
bool is_gone_already(const Object& answer) {
  if (answer.text({"kind"}) == "Status" || !answer.is_being_deleted()) return true;
  const nlohmann::json* finalizers = answer.find({"metadata", "finalizers"});
  const bool is_held = finalizers != nullptr && !finalizers->empty();
  return !is_held && answer.integer({"metadata", "deletionGracePeriodSeconds"}) == 0;
}

}  // namespace

std::optional<std::int64_t> grace_of(const Removal& how) {
  if (how.force) return 0;
  if (!how.grace) return std::nullopt;
  return std::max<std::int64_t>(1, how.grace->count());
}

Task<kube::Outcome<std::optional<GoneWait>>> delete_this(Cluster* cluster, GoneWait which,
                                                         std::optional<std::int64_t> grace_seconds) {
  kube::RemoveOptions options{.grace_seconds = grace_seconds, .uid = which.uid};
  auto removed =
      co_await cluster->client().remove(which.resource, which.namespace_name, which.name, std::move(options));
  if (!removed && removed.error().not_found()) co_return std::nullopt;
  if (!removed) co_return std::unexpected{std::move(removed.error())};
  cluster->note_removed(which.resource, which.namespace_name, which.name, which.uid);
  if (is_gone_already(*removed)) co_return std::nullopt;
  which.version = removed->resource_version();
  co_return which;
}

Task<Result<>> remove_this(Cluster* cluster, GoneWait which, Removal how) {
  const bool is_pod = which.resource.plural == kube::kPods.plural;
  auto deleted = co_await delete_this(cluster, std::move(which), is_pod ? grace_of(how) : std::nullopt);
  if (!deleted && deleted.error().conflict()) co_return Result<>{};
  if (!deleted) co_return std::unexpected{std::move(deleted.error())};
  if (!*deleted || !how.wait) co_return Result<>{};
  co_return co_await wait_until_gone(&cluster->client(), std::move(**deleted));
}

Task<Result<>> remove_object(Cluster* cluster, kube::Resource resource, std::string namespace_name, std::string name,
                             std::string id, Removal how) {
  auto found = co_await cluster->client().get(resource, namespace_name, name);
  if (!found && found.error().not_found()) co_return Result<>{};
  if (!found) co_return std::unexpected{std::move(found.error())};
  if (found->label(labels::kSandbox) != id) co_return Result<>{};
  GoneWait which{.resource = resource,
                 .namespace_name = std::move(namespace_name),
                 .name = std::move(name),
                 .uid = found->uid(),
                 .limit = how.patience};
  co_return co_await remove_this(cluster, std::move(which), std::move(how));
}

}  // namespace skiff::container
