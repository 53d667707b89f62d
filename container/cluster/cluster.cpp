#include "container/cluster/cluster.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/scope_counter.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/signing_secret.hpp"
#include "container/net/resolver.hpp"

namespace skiff::container {
Result<std::unique_ptr<Cluster>> Cluster::open(Executor executor, ClusterOptions options) {
  SKIFF_TRY(auto access, kube::find_access(options.access, net::process_environment));
  auto pool = std::make_shared<BlockingPool>("skiff-kube", 2);
  SKIFF_TRY(auto transport, kube::Transport::open(executor, pool, std::move(access), options.transport));
  protocol::Resolver resolver = net::system_resolver();
  return std::unique_ptr<Cluster>{new Cluster{executor, std::move(options), std::move(resolver), std::move(transport)}};
}

Cluster::Cluster(Executor executor, ClusterOptions options, protocol::Resolver resolver,
                 std::unique_ptr<kube::Transport> transport)
    : executor_{executor},
      options_{std::move(options)},
      resolver_{std::move(resolver)},
      client_{std::move(transport)},
      tasks_{executor} {}

namespace {

kube::WatchOptions our_pods(const std::string& namespace_name) {
  return {.resource = kube::kPods, .namespace_name = namespace_name, .label_selector = std::string{labels::kOurs}};
}

}  // namespace

kube::SharedWatch& Cluster::pods(const std::string& namespace_name) {
  return pods_.try_emplace(namespace_name, &client_, executor_, our_pods(namespace_name)).first->second;
}

kube::SharedWatch& Cluster::ends(const std::string& namespace_name) {
  kube::WatchOptions options = our_pods(namespace_name);
  options.metadata_only = true;
  return ends_.try_emplace(namespace_name, &client_, executor_, std::move(options)).first->second;
}

void Cluster::watch_presence(kube::Resource resource) {
  if (!presence_)
    presence_ = std::make_unique<kube::ApiPresence>(&client_, executor_, std::move(resource), namespace_name(),
                                                    std::string{labels::kOurs});
}

void Cluster::watch_objects() {
  if (watched_) return;
  watch_presence(kube::kConfigMaps);
  watched_ = std::make_unique<WatchedObjects>(&client_, presence_.get(), executor_, namespace_name());
  tasks_.spawn("first signing keys", read_first_keys(this));
}

Task<> Cluster::read_first_keys(Cluster* self) {
  // Without them the next use tries again, and says why not.
  (void)co_await self->signing_keys();
}

void Cluster::doubt() {
  if (presence_) presence_->doubt();
}

Task<> Cluster::close() {
  tasks_.cancel();
  co_await tasks_.join();
  if (watched_) co_await watched_->stop();
  if (presence_) co_await presence_->stop();
}

Task<kube::Outcome<kube::Object>> Cluster::read(kube::Resource resource, std::string namespace_name, std::string name,
                                                Reading reading) {
  if (!watched_ && presence_) {
    return presence_->read(std::move(resource), std::move(namespace_name), std::move(name));
  }
  if (!watched_) return client_.get(std::move(resource), std::move(namespace_name), std::move(name));
  if (reading == Reading::now) {
    return watched_->read(std::move(resource), std::move(namespace_name), std::move(name));
  }
  if (reading == Reading::recent) {
    return watched_->read_recent(std::move(resource), std::move(namespace_name), std::move(name));
  }
  return watched_->read_known(std::move(resource), std::move(namespace_name), std::move(name));
}

void Cluster::note(const kube::Resource& resource, const kube::Object& object) {
  if (watched_) watched_->note(resource, object);
}

void Cluster::note_removed(const kube::Resource& resource, const std::string& namespace_name, std::string_view name,
                           std::string_view uid) {
  if (watched_) watched_->note_removed(resource, namespace_name, name, uid);
}

Task<Result<>> Cluster::check_answers() {
  if (!presence_) co_return Result<>{};
  co_return co_await presence_->check();
}

Result<> Cluster::fill_in_images(SandboxSpec& spec) const {
  return container::fill_in_images(spec, options_.default_image, options_.agent_image);
}

Result<> fill_in_images(SandboxSpec& spec, const std::string& default_image, const std::string& agent_image) {
  if (spec.image.empty()) spec.image = default_image;
  if (!spec.pod.inject) return {};
  if (spec.pod.agent_image.empty()) spec.pod.agent_image = agent_image;
  if (!spec.pod.agent_image.empty()) return {};
  return fail(Errc::missing_field,
              "no agent image is set: build and push one (docker build -t REGISTRY/skiffd . && docker push "
              "REGISTRY/skiffd)\n"
              "       and name it with --agent-image or SKIFF_AGENT_IMAGE; without a cluster use --driver box",
              "--agent-image");
}

Task<bool> Cluster::assigns_ids() {
  if (!assigns_ids_) {
    auto home = co_await client_.get(kube::kNamespaces, {}, namespace_name());
    assigns_ids_ = home && !home->annotation("openshift.io/sa.scc.uid-range").empty();
  }
  co_return *assigns_ids_;
}

Task<Result<>> Cluster::read_keys(bool create) {
  const SteadyTime began = std::chrono::steady_clock::now();
  const std::string name = signing_secret_name(options_.name_prefix);
  auto secret = co_await read(kube::kSecrets, namespace_name(), name);
  if (!secret && secret.error().not_found() && create) {
    SKIFF_CO_TRY(auto fresh, SigningKey::generate());
    SKIFF_CO_TRY(auto data, signing_secret_data({.current = std::move(fresh)}));
    kube::Object object = kube::Object::make(kube::kSecrets, namespace_name(), name);
    labels::put_common(object, "key", {}, {});
    object.json["type"] = "Opaque";
    object.json["data"].merge_patch(data);
    secret = co_await client_.create(kube::kSecrets, std::move(object));
    // Another process may have been faster, or our answer was lost: use the Secret that exists.
    if (!secret && (secret.error().already_exists() || secret.error().may_have_happened)) {
      secret = co_await client_.get(kube::kSecrets, namespace_name(), name);
    }
  }
  if (!secret) co_return std::unexpected{std::move(secret.error())};
  SKIFF_CO_TRY(auto keys, read_signing_secret(*secret));
  keys_ = std::move(keys);
  keys_read_at_ = began;
  co_return Result<>{};
}

Task<Result<SigningKey>> Cluster::signing_key(bool create) {
  const bool is_old = keys_ && std::chrono::steady_clock::now() - keys_read_at_ >= options_.key_age;
  // One caller reads it again, and the others do not wait for that.
  if (!keys_ || (is_old && key_reads_ == 0)) {
    const ScopeCounter counted{key_reads_};
    SKIFF_CO_TRY_VOID(co_await read_keys(create));
  }
  co_return keys_->current;
}

Task<Result<SigningKey>> Cluster::signing_key_of(kube::Object pod) {
  const std::string configured = configured_key(pod);
  const bool may_be_newer = keys_ && !configured.empty() && !keys_->are_known_to(configured);
  if (!keys_ || may_be_newer) {
    SKIFF_CO_TRY_VOID(co_await read_keys(false));
  }
  co_return keys_->of_agent(configured);
}

Task<Result<SigningKeys>> Cluster::signing_keys() {
  if (!keys_) {
    SKIFF_CO_TRY_VOID(co_await read_keys(false));
  }
  co_return *keys_;
}

}  // namespace skiff::container
