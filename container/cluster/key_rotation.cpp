#include "container/cluster/key_rotation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/cluster/signing_secret.hpp"
#include "container/kube/objects/pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

/// The Secret as it was read, and its keys.
struct KnownSecret {
  Object object;
  SigningKeys keys;
};

/// The name of an object for people: a sandbox, or the object's kind and name. Empty for a Pod that has ended, which
/// needs no key.
std::string user_of(const Object& object, std::string kind) {
  if (kind == kube::kPods.kind) {
    const std::string phase = kube::pod_phase(object);
    if (phase == "Succeeded" || phase == "Failed") return {};
    if (std::string name = labels::get(object, labels::kName); !name.empty()) return name;
  }
  return std::move(kind) + " " + object.name();
}

Task<Result<KnownSecret>> read_secret(Cluster* cluster) {
  const std::string name = signing_secret_name(cluster->options().name_prefix);
  auto secret = co_await cluster->client().get(kube::kSecrets, cluster->namespace_name(), name);
  if (!secret && secret.error().not_found()) {
    co_return fail(Errc::not_found, "namespace " + cluster->namespace_name() + " has no signing key yet (Secret " +
                                        name + "): the first sandbox in it creates one");
  }
  if (!secret) co_return std::unexpected{std::move(secret.error())};
  SKIFF_CO_TRY(auto keys, read_signing_secret(*secret));
  co_return KnownSecret{.object = std::move(*secret), .keys = std::move(keys)};
}

/// Writes the Secret unless another client has changed it since it was read.
Task<Result<>> write_secret(Cluster* cluster, Object read, SigningKeys keys) {
  SKIFF_CO_TRY(auto data, signing_secret_data(keys));
  const json patch{{"metadata", {{"resourceVersion", read.resource_version()}}}, {"data", std::move(data)}};
  auto written = co_await cluster->client().patch(kube::kSecrets, read.namespace_name(), read.name(),
                                                  kube::PatchKind::merge, patch);
  if (written) co_return Result<>{};
  const bool is_conflict = written.error().conflict();
  if (!is_conflict && !written.error().may_have_happened) co_return std::unexpected{std::move(written.error())};
  // If the answer was lost, the write may have succeeded, and its repetition conflicts with it.
  auto now = co_await read_secret(cluster);
  const bool is_ours = now && now->keys.older.size() == keys.older.size() &&
                       now->keys.current.fingerprint().value_or("") == keys.current.fingerprint().value_or("none");
  if (is_ours) co_return Result<>{};
  if (!is_conflict) co_return std::unexpected{std::move(written.error())};
  co_return fail(Errc::sandbox_conflict,
                 "Secret " + read.name() + " was changed by another client at the same time; try again");
}

Result<KeyReport> report_of(const SigningKeys& keys) {
  SKIFF_TRY(auto current, keys.current.fingerprint());
  KeyReport report{.current = std::move(current)};
  for (const SigningKey& key : keys.older) {
    SKIFF_TRY(auto fingerprint, key.fingerprint());
    report.older.push_back({.fingerprint = std::move(fingerprint)});
  }
  return report;
}

/// Searches for the older keys in all objects that may need them.
class UserSearch {
 public:
  UserSearch(Cluster* cluster, const SigningKeys* keys) : cluster_{cluster}, keys_{keys}, users_(keys->older.size()) {}

  Task<Result<std::vector<std::set<std::string>>>> run() {
    // All Pods, because those of claims have none of our labels except their template's.
    auto found = co_await look_through(kube::kPods);
    if (!found) co_return std::unexpected{std::move(found.error())};
    for (const kube::Resource& kind : {kube::kSandboxes, kube::kSandboxTemplates}) {
      for (const char* version : {"v1beta1", "v1alpha1"}) {
        SKIFF_CO_TRY(auto served, co_await cluster_->client().serves(kind.at(version)));
        if (!served) continue;
        found = co_await look_through(kind.at(version));
        if (!found) co_return std::unexpected{std::move(found.error())};
        break;
      }
    }
    found = co_await look_elsewhere();
    if (!found) co_return std::unexpected{std::move(found.error())};
    co_return std::move(users_);
  }

 private:
  void note(const Object& object, const std::string& kind) {
    const std::string user = user_of(object, kind);
    if (user.empty()) return;
    const std::string text = object.json.dump(-1, ' ', false, json::error_handler_t::replace);
    for (std::size_t i = 0; i < users_.size(); ++i) {
      if (keys_->older[i].is_known_to(text)) users_[i].insert(user);
    }
  }

  Task<Result<>> look_through(kube::Resource kind) {
    auto read = co_await cluster_->client().each_page(kind, cluster_->namespace_name(), {},
                                                      [this, &kind](const std::vector<Object>& items, bool) {
                                                        for (const Object& item : items)
                                                          note(item, std::string{kind.kind});
                                                      });
    if (!read) co_return std::unexpected{std::move(read.error())};
    co_return Result<>{};
  }

  /// Searches the Pods of sandboxes with namespaces of their own.
  Task<Result<>> look_elsewhere() {
    std::vector<std::pair<std::string, std::string>> pods;
    kube::ListOptions records{.label_selector = labels::selector("record", {})};
    auto read = co_await cluster_->client().each_page(kube::kConfigMaps, cluster_->namespace_name(), std::move(records),
                                                      [&](const std::vector<Object>& items, bool) {
                                                        for (const Object& item : items) {
                                                          const std::string home = item.text({"data", "namespace"});
                                                          if (!home.empty() && home != cluster_->namespace_name())
                                                            pods.emplace_back(home, item.text({"data", "pod"}));
                                                        }
                                                      });
    if (!read) co_return std::unexpected{std::move(read.error())};
    for (const auto& [home, name] : pods) {
      auto pod = co_await cluster_->client().get(kube::kPods, home, name);
      if (!pod && pod.error().not_found()) continue;
      if (!pod) co_return std::unexpected{std::move(pod.error())};
      note(*pod, std::string{kube::kPods.kind});
    }
    co_return Result<>{};
  }

  Cluster* cluster_;
  const SigningKeys* keys_;
  std::vector<std::set<std::string>> users_;  ///< users of each older key
};

}  // namespace

Task<Result<KeyReport>> rotate_key(Cluster* cluster) {
  SKIFF_CO_TRY(auto known, co_await read_secret(cluster));
  SKIFF_CO_TRY(auto fresh, SigningKey::generate());
  SigningKeys keys{.current = std::move(fresh), .older = std::move(known.keys.older)};
  keys.older.insert(keys.older.begin(), std::move(known.keys.current));
  SKIFF_CO_TRY_VOID(co_await write_secret(cluster, std::move(known.object), keys));
  co_return report_of(keys);
}

Task<Result<KeyReport>> finish_rotation(Cluster* cluster) {
  SKIFF_CO_TRY(auto known, co_await read_secret(cluster));
  if (known.keys.older.empty()) co_return report_of(known.keys);
  auto before = report_of(known.keys);
  if (!before) co_return before;
  UserSearch search{cluster, &known.keys};
  SKIFF_CO_TRY(auto users, co_await search.run());
  KeyReport report{.current = before->current};
  SigningKeys kept{.current = known.keys.current};
  for (std::size_t i = 0; i < users.size(); ++i) {
    OlderKey& older = before->older[i];
    if (users[i].empty()) {
      report.removed.push_back(std::move(older.fingerprint));
      continue;
    }
    older.users.assign(users[i].begin(), users[i].end());
    report.older.push_back(std::move(older));
    kept.older.push_back(known.keys.older[i]);
  }
  if (report.removed.empty()) co_return report;
  SKIFF_CO_TRY_VOID(co_await write_secret(cluster, std::move(known.object), std::move(kept)));
  co_return report;
}

}  // namespace skiff::container
