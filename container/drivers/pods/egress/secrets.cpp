#include "container/drivers/pods/egress/secrets.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/cluster/egress/secret_objects.hpp"
#include "container/egress/terminate/authority.hpp"
#include "container/egress/terminate/secret_hosts.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr int kMostSecretWrites = 10;

Result<> certify(EgressSecret* one) {
  egress::SecretHosts hosts;
  SKIFF_TRY_VOID(hosts.add(one->secret.name, one->secret.hosts));
  SKIFF_TRY(const auto authority, egress::Authority::create(egress::names_of(hosts.rules())));
  one->ca_pem = authority->pem();
  one->key_pem = authority->key_pem();
  return {};
}

/// True if the authority of a secret is good for what replaces it.
bool can_stay(const EgressSecret& old, const egress::Secret& wanted) {
  return std::ranges::is_permutation(old.secret.hosts, wanted.hosts) &&
         egress::Authority::load(old.ca_pem, old.key_pem, {}).has_value();
}

/// Writes the secret; false if somebody else was faster.
Task<kube::Outcome<bool>> try_to_write(Cluster* cluster, const EgressSecret* one, const Object* old) {
  kube::Client& client = cluster->client();
  Object object = egress_secret_object(*one, cluster->namespace_name());
  kube::Outcome<Object> written;
  if (old == nullptr) {
    written = co_await client.create(kube::kSecrets, std::move(object));
  } else {
    const json patch{{"metadata", {{"resourceVersion", old->resource_version()}}}, {"data", object.json["data"]}};
    written =
        co_await client.patch(kube::kSecrets, object.namespace_name(), object.name(), kube::PatchKind::merge, patch);
  }
  if (written) co_return true;
  const kube::Failure& why = written.error();
  if (why.conflict() || why.already_exists() || (old != nullptr && why.not_found())) co_return false;
  co_return std::unexpected{std::move(written.error())};
}

/// Without the proxy's namespace a secret has no place.
std::unexpected<Error> not_there(kube::Failure failure, const Cluster& cluster) {
  if (failure.not_found()) {
    return fail(Errc::not_found, "no egress proxy is installed for this namespace: skiff egress install -n " +
                                     cluster.namespace_name() + " --image IMAGE");
  }
  return std::unexpected{std::move(failure.error)};
}

Task<kube::Outcome<Object>> read_kept(Cluster* cluster, const std::string& name) {
  return cluster->client().get(kube::kSecrets, egress_namespace(cluster->namespace_name()), egress_secret_name(name));
}

/// Tells the namespace of sandboxes of the secret, as it is at last: others may set it at the same time, or remove it.
Task<Result<>> publish_secret(Cluster* cluster, std::string name) {
  std::string published;
  for (int tries = 0; tries < kMostSecretWrites; ++tries) {
    const auto object = co_await read_kept(cluster, name);
    if (!object && object.error().not_found()) co_return co_await remove_egress_secret(cluster, name);
    if (!object) co_return std::unexpected{object.error().error};
    if (object->resource_version() == published) co_return Result<>{};
    SKIFF_CO_TRY(const auto now, read_egress_secret(*object));
    SKIFF_CO_TRY_VOID(co_await cluster->client().apply(
        kube::kConfigMaps, egress_secret_notice(now, cluster->namespace_name()), {.force = true}));
    published = object->resource_version();
  }
  co_return fail(Errc::timeout, "the secret \"" + name + "\" is being changed by others repeatedly");
}

std::unexpected<Error> no_such_secret(const std::string& name, const Cluster& cluster) {
  return fail(Errc::not_found,
              std::string{"secret \""}
                  .append(name)
                  .append("\" not found: skiff secret set ")
                  .append(name)
                  .append(" -n ")
                  .append(cluster.namespace_name())
                  .append(" creates it from stdin"),
              "--egress-secret");
}

Result<> add_trust(EgressTrust* trust, egress::SecretHosts* hosts, json* annotation, const EgressSecretNotice& one) {
  SKIFF_TRY_VOID(hosts->add(one.name, one.hosts));
  (*annotation)[one.name] = one.hosts;
  trust->ca_pem += one.ca_pem;
  if (!one.variable.empty()) trust->variables.emplace(one.variable, one.placeholder);
  if (trust->ca_pem.size() > kLargestTrust) {
    return fail(Errc::invalid_field, "--egress-secret: their certificates have more than 96 KiB", "--egress-secret");
  }
  return {};
}

/// The proxies keep all secrets of the namespace in their memory.
Task<Result<>> need_room(Cluster* cluster) {
  SKIFF_CO_TRY(const auto all,
               co_await cluster->client().list(kube::kSecrets, egress_namespace(cluster->namespace_name()),
                                               {.label_selector = egress_secret_selector()}));
  if (all.items.size() < egress::SecretStore::kMost) co_return Result<>{};
  co_return fail(Errc::resource_exhausted,
                 "there are " + std::to_string(egress::SecretStore::kMost) +
                     " secrets already in this namespace: skiff secret rm removes one",
                 "NAME");
}

}  // namespace

Task<Result<>> set_egress_secret(Cluster* cluster, egress::Secret secret) {
  SKIFF_CO_TRY_VOID(secret.check());
  EgressSecret wanted{.secret = std::move(secret), .ca_pem = {}, .key_pem = {}};
  for (int tries = 0; tries < kMostSecretWrites; ++tries) {
    const auto found = co_await read_kept(cluster, wanted.secret.name);
    if (!found && !found.error().not_found()) co_return std::unexpected{found.error().error};
    if (!found) SKIFF_CO_TRY_VOID(co_await need_room(cluster));
    const auto old = found ? read_egress_secret(*found) : std::unexpected{Error{}};
    if (old && can_stay(*old, wanted.secret)) {
      wanted.ca_pem = old->ca_pem;
      wanted.key_pem = old->key_pem;
    } else {
      SKIFF_CO_TRY_VOID(certify(&wanted));
    }
    auto written = co_await try_to_write(cluster, &wanted, found ? &*found : nullptr);
    if (!written) co_return not_there(std::move(written.error()), *cluster);
    if (!*written) continue;
    wipe(wanted.secret.value);
    wipe(wanted.key_pem);
    co_return co_await publish_secret(cluster, wanted.secret.name);
  }
  co_return fail(Errc::timeout, "the secret \"" + wanted.secret.name + "\" is being changed by others repeatedly");
}

Task<Result<std::vector<egress::Secret>>> list_egress_secrets(Cluster* cluster) {
  SKIFF_CO_TRY(const auto listed,
               co_await cluster->client().list(kube::kSecrets, egress_namespace(cluster->namespace_name()),
                                               {.label_selector = egress_secret_selector()}));
  std::vector<egress::Secret> all;
  for (const Object& object : listed.items) {
    SKIFF_CO_TRY(auto one, read_egress_secret(object));
    all.push_back(std::move(one.secret));
  }
  std::ranges::sort(all, {}, &egress::Secret::name);
  co_return all;
}

Task<Result<>> remove_egress_secret(Cluster* cluster, std::string name) {
  SKIFF_CO_TRY_VOID(check_name(name));
  kube::Client& client = cluster->client();
  const std::string object = egress_secret_name(name);
  // No sandbox is made with it any more, and then nobody has it.
  auto noted = co_await client.remove(kube::kConfigMaps, cluster->namespace_name(), object);
  if (!noted && !noted.error().not_found()) co_return std::unexpected{std::move(noted.error().error)};
  auto removed = co_await client.remove(kube::kSecrets, egress_namespace(cluster->namespace_name()), object);
  if (removed) co_return Result<>{};
  if (!removed.error().not_found()) co_return std::unexpected{std::move(removed.error().error)};
  co_return fail(Errc::not_found, "secret \"" + name + "\" not found", "NAME");
}

Task<Result<EgressTrust>> read_egress_trust(Cluster* cluster, std::vector<std::string> names) {
  EgressTrust trust;
  if (names.empty()) co_return trust;
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  egress::SecretHosts hosts;
  json annotation = json::object();
  for (const std::string& name : names) {
    SKIFF_CO_TRY_VOID(check_name(name));
    auto found = co_await cluster->client().get(kube::kConfigMaps, cluster->namespace_name(), egress_secret_name(name));
    if (!found && found.error().not_found()) co_return no_such_secret(name, *cluster);
    if (!found) co_return std::unexpected{std::move(found.error().error)};
    SKIFF_CO_TRY(const auto one, read_egress_secret_notice(*found));
    SKIFF_CO_TRY_VOID(add_trust(&trust, &hosts, &annotation, one));
  }
  trust.rules = hosts.rules();
  trust.annotation = annotation.dump();
  if (trust.annotation.size() > kLargestEgressPolicy) {
    co_return fail(Errc::invalid_field, "--egress-secret: their hosts have more than 16 KiB", "--egress-secret");
  }
  // A sandbox would come up and trust nobody.
  SKIFF_CO_TRY_VOID(protocol::TlsContext::client({.further_ca_pem = trust.ca_pem}));
  co_return trust;
}

Task<Result<std::vector<UsedSecret>>> describe_egress_secrets(Cluster* cluster, std::vector<std::string> names) {
  std::vector<UsedSecret> all;
  for (const std::string& name : names) {
    UsedSecret one{.name = name};
    const auto found =
        co_await cluster->client().get(kube::kConfigMaps, cluster->namespace_name(), egress_secret_name(name));
    if (!found && !found.error().not_found()) co_return std::unexpected{found.error().error};
    if (found) {
      SKIFF_CO_TRY(auto notice, read_egress_secret_notice(*found));
      one.hosts = std::move(notice.hosts);
      one.requests = std::move(notice.requests);
    }
    all.push_back(std::move(one));
  }
  co_return all;
}

}  // namespace skiff::container
