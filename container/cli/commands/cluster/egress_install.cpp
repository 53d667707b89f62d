#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/egress/secret_objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/signing_secret.hpp"

namespace skiff::container {
namespace {

using kube::Object;

std::string name_of(const Object& object) {
  return object.text({"kind"}) + "/" + object.name();
}

class EgressInstaller final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "image",
             .target = setting::Text{&image_},
             .value = "IMAGE",
             .help = "Image with skiff as its entrypoint, as for `skiff serve`."},
            {.flag = "remove",
             .target = setting::Switch{&remove_},
             .help = "Remove all of it, and its secrets. Refused while there are sandboxes with egress by name."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments /*arguments*/) override {
    SKIFF_CO_TRY(auto cluster, context.cluster());
    if (remove_) co_return co_await remove_all(&context, cluster);
    if (image_.empty()) {
      co_return fail(Errc::missing_field, "--image names the image with skiff, for the proxy's Pods", "--image");
    }
    EgressInstall wanted{
        .tenant = cluster->namespace_name(), .prefix = cluster->options().name_prefix, .image = image_};
    SKIFF_CO_TRY(wanted.public_keys, co_await public_keys(cluster));
    auto objects = egress_objects(wanted);
    if (context.options().output == "yaml") co_return print_objects(objects);
    co_return co_await apply_all(&context, cluster, std::move(wanted), std::move(objects));
  }

 private:
  /// The current key, and older ones that running sandboxes still know.
  static Task<Result<std::string>> public_keys(Cluster* cluster) {
    SKIFF_CO_TRY_VOID(co_await cluster->signing_key(true));
    SKIFF_CO_TRY(const auto secret,
                 co_await cluster->client().get(kube::kSecrets, cluster->namespace_name(),
                                                signing_secret_name(cluster->options().name_prefix)));
    SKIFF_CO_TRY(const auto keys, read_signing_secret(secret));
    SKIFF_CO_TRY(auto pems, keys.current.public_pem());
    for (const SigningKey& key : keys.older) {
      SKIFF_CO_TRY(const auto pem, key.public_pem());
      pems += pem;
    }
    co_return pems;
  }

  static Result<int> print_objects(const std::vector<std::pair<kube::Resource, Object>>& objects) {
    std::string text;
    for (const auto& [resource, object] : objects) text += (text.empty() ? "" : "---\n") + format_yaml(object.json);
    SKIFF_TRY_VOID(print(text));
    return 0;
  }

  /// `already_exists` if the proxy's namespace is somebody else's.
  static Task<Result<>> check_home(Cluster* cluster, std::string home) {
    auto found = co_await cluster->client().get(kube::kNamespaces, {}, home);
    if (!found && found.error().not_found()) co_return Result<>{};
    if (!found) co_return std::unexpected{std::move(found.error())};
    if (labels::is_ours(*found) && found->label(labels::kComponent) == "egress") co_return Result<>{};
    co_return fail(Errc::already_exists,
                   "the namespace " + home + " is not the egress proxy's: skiff changes nothing in it");
  }

  static Task<Result<int>> apply_all(Context* context, Cluster* cluster, EgressInstall wanted,
                                     std::vector<std::pair<kube::Resource, Object>> objects) {
    SKIFF_CO_TRY_VOID(co_await check_home(cluster, egress_namespace(wanted.tenant)));
    nlohmann::json names = nlohmann::json::array();
    std::string lines;
    Object service;
    for (auto& [resource, object] : objects) {
      SKIFF_CO_TRY(auto applied, co_await cluster->client().apply(resource, std::move(object), {.force = true}));
      names.push_back(name_of(applied));
      lines += name_of(applied) + "\n";
      if (resource.plural == kube::kServices.plural) service = std::move(applied);
    }
    // Sandboxes are made from now on.
    SKIFF_CO_TRY_VOID(
        co_await cluster->client().apply(kube::kConfigMaps, egress_notice(wanted, service), {.force = true}));
    SKIFF_CO_TRY_VOID(
        context->show({{"namespace", egress_namespace(wanted.tenant)}, {"applied", std::move(names)}}, lines, lines));
    co_return 0;
  }

  static Task<Result<int>> remove_all(Context* context, Cluster* cluster) {
    kube::Client& client = cluster->client();
    const std::string tenant = cluster->namespace_name();
    const std::string home = egress_namespace(tenant);
    SKIFF_CO_TRY_VOID(co_await check_home(cluster, home));
    kube::ListOptions fenced{.label_selector = std::string{labels::kNetwork}.append("=").append(kEgressNetwork)};
    SKIFF_CO_TRY(const auto pods, co_await client.list(kube::kPods, tenant, std::move(fenced)));
    if (!pods.items.empty()) {
      co_return fail(Errc::in_use,
                     std::to_string(pods.items.size()) +
                         " sandboxes have egress by name, and would be without their fence: remove them first");
    }
    std::string lines;
    const auto note = [&](const kube::Outcome<Object>& removed, const std::string& what) -> Result<> {
      if (!removed && !removed.error().not_found()) return std::unexpected{removed.error().error};
      if (removed) lines += what + "\n";
      return {};
    };
    // First of all no sandbox is made any more.
    auto removed = co_await client.remove(kube::kConfigMaps, tenant, std::string{kEgressName});
    SKIFF_CO_TRY_VOID(note(removed, "ConfigMap/" + std::string{kEgressName}));
    for (auto& [resource, object] : egress_objects({.tenant = tenant, .prefix = cluster->options().name_prefix})) {
      if (object.namespace_name() != tenant) continue;
      removed = co_await client.remove(resource, tenant, object.name());
      SKIFF_CO_TRY_VOID(note(removed, name_of(object)));
    }
    // The secrets themselves go with the proxy's namespace.
    SKIFF_CO_TRY(const auto notices,
                 co_await client.list(kube::kConfigMaps, tenant, {.label_selector = egress_secret_selector()}));
    for (const Object& notice : notices.items) {
      removed = co_await client.remove(kube::kConfigMaps, tenant, notice.name());
      SKIFF_CO_TRY_VOID(note(removed, "ConfigMap/" + notice.name()));
    }
    removed = co_await client.remove(kube::kNamespaces, {}, home);
    SKIFF_CO_TRY_VOID(note(removed, "Namespace/" + home));
    SKIFF_CO_TRY_VOID(context->show({{"namespace", home}}, lines, lines));
    co_return 0;
  }

  std::string image_;
  bool remove_ = false;
};

}  // namespace

Command egress_install_command() {
  return {.name = "egress install",
          .group = "Operators",
          .summary = "install the egress proxy for the sandboxes of a namespace",
          .text =
              "Sandboxes of the namespace can then be made with --egress. The proxy is a Deployment in the namespace\n"
              "NAMESPACE-egress; a NetworkPolicy lets such sandboxes connect to it alone. The cluster must enforce\n"
              "NetworkPolicy: `skiff doctor --egress` finds out. Run it again after `skiff key rotate`.\n"
              "With -o yaml the objects are only printed, without the ConfigMap that notes the proxy's address.\n"
              "\n"
              "  skiff egress install -n team-a --image registry.example.com/skiff:1.0\n"
              "  skiff egress install -n team-a --remove",
          .make = &create_invocation<EgressInstaller>};
}

}  // namespace skiff::container
