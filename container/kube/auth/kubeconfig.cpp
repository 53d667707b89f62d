#include "container/kube/auth/kubeconfig.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/kube/objects/yaml.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::kube {
namespace {

using protocol::field;
using protocol::Rule;

constexpr std::size_t kMostConfigBytes = 4 * 1024 * 1024;
constexpr Rule kOptional{.optional = true};
/// The rule for texts that become C strings or headers.
constexpr Rule kText{.text = protocol::Text::no_nul, .optional = true};

// --- the file's own form (k8s.io/client-go/tools/clientcmd/api/v1) ---

struct WireVariable {
  std::string name;
  std::string value;
  static constexpr auto fields = std::tuple{field("name", &WireVariable::name, "", {.text = protocol::Text::env_name}),
                                            field("value", &WireVariable::value, "", kText)};
};

struct WireExec {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<WireVariable> env;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string interactive_mode;
  static constexpr auto fields =
      std::tuple{field("apiVersion", &WireExec::api_version, ""),
                 field("command", &WireExec::command, "", {.min_length = 1, .text = protocol::Text::no_nul}),
                 field("args", &WireExec::args, "", kText),
                 field("env", &WireExec::env, "", kOptional),
                 field("installHint", &WireExec::install_hint, "", kOptional),
                 field("provideClusterInfo", &WireExec::provide_cluster_info, "", kOptional),
                 field("interactiveMode", &WireExec::interactive_mode, "", kOptional)};
};

struct WireAuthProvider {
  std::string name;
  static constexpr auto fields = std::tuple{field("name", &WireAuthProvider::name, "", kOptional)};
};

struct WireExtension {
  std::string name;
  nlohmann::json extension;
  static constexpr auto fields = std::tuple{field("name", &WireExtension::name, "", kOptional),
                                            field("extension", &WireExtension::extension, "", kOptional)};
};

struct WireCluster {
  std::string server;
  std::string certificate_authority;
  std::string certificate_authority_data;
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
  std::vector<WireExtension> extensions;
  static constexpr auto fields =
      std::tuple{field("server", &WireCluster::server, "", kText),
                 field("certificate-authority", &WireCluster::certificate_authority, "", kText),
                 field("certificate-authority-data", &WireCluster::certificate_authority_data, "", kOptional),
                 field("tls-server-name", &WireCluster::tls_server_name, "", kText),
                 field("proxy-url", &WireCluster::proxy_url, "", kText),
                 field("insecure-skip-tls-verify", &WireCluster::insecure_skip_tls_verify, "", kOptional),
                 field("extensions", &WireCluster::extensions, "", kOptional)};
};

struct WireUser {
  std::string client_certificate;
  std::string client_certificate_data;
  std::string client_key;
  std::string client_key_data;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string impersonate;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  nlohmann::json impersonate_extra;
  std::optional<WireExec> exec;
  std::optional<WireAuthProvider> auth_provider;
  static constexpr auto fields =
      std::tuple{field("client-certificate", &WireUser::client_certificate, "", kText),
                 field("client-certificate-data", &WireUser::client_certificate_data, "", kOptional),
                 field("client-key", &WireUser::client_key, "", kText),
                 field("client-key-data", &WireUser::client_key_data, "", kOptional),
                 field("token", &WireUser::token, "", kText),
                 field("tokenFile", &WireUser::token_file, "", kText),
                 field("username", &WireUser::username, "", kText),
                 field("password", &WireUser::password, "", kText),
                 field("as", &WireUser::impersonate, "", kText),
                 field("as-uid", &WireUser::impersonate_uid, "", kText),
                 field("as-groups", &WireUser::impersonate_groups, "", kText),
                 field("as-user-extra", &WireUser::impersonate_extra, "", kOptional),
                 field("exec", &WireUser::exec, ""),
                 field("auth-provider", &WireUser::auth_provider, "")};
};

struct WireContext {
  std::string cluster;
  std::string user;
  std::string namespace_name;
  static constexpr auto fields =
      std::tuple{field("cluster", &WireContext::cluster, "", kText), field("user", &WireContext::user, "", kText),
                 field("namespace", &WireContext::namespace_name, "", kText)};
};

struct NamedCluster {
  std::string name;
  WireCluster entry;
  static constexpr auto fields =
      std::tuple{field("name", &NamedCluster::name, "", kText), field("cluster", &NamedCluster::entry, "", kOptional)};
};
struct NamedUser {
  std::string name;
  WireUser entry;
  static constexpr auto fields =
      std::tuple{field("name", &NamedUser::name, "", kText), field("user", &NamedUser::entry, "", kOptional)};
};
struct NamedContext {
  std::string name;
  WireContext entry;
  static constexpr auto fields =
      std::tuple{field("name", &NamedContext::name, "", kText), field("context", &NamedContext::entry, "", kOptional)};
};

struct WireKubeconfig {
  std::string kind;
  std::vector<NamedCluster> clusters;
  std::vector<NamedUser> users;
  std::vector<NamedContext> contexts;
  std::string current_context;
  static constexpr auto fields = std::tuple{field("kind", &WireKubeconfig::kind, "", kOptional),
                                            field("clusters", &WireKubeconfig::clusters, "", kOptional),
                                            field("users", &WireKubeconfig::users, "", kOptional),
                                            field("contexts", &WireKubeconfig::contexts, "", kOptional),
                                            field("current-context", &WireKubeconfig::current_context, "", kText)};
};

// --- its meaning ---

/// Turns one file into entries and keeps the first error.
class Reading {
 public:
  Reading(std::string origin, std::string directory) : origin_{std::move(origin)}, directory_{std::move(directory)} {}

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

  template <class Wire, class Entry>
  void take(std::vector<Wire>& list, std::string_view what, std::map<std::string, Entry>& into) {
    for (Wire& item : list) {
      const std::string place = std::string{what} + " \"" + item.name + "\"";
      Entry entry = read(item.entry, place);
      if (!into.try_emplace(item.name, std::move(entry)).second) refuse(place + " is there twice");
    }
  }

 private:
  void refuse(const std::string& what) {
    if (!error_) error_ = Error{Errc::invalid_field, origin_ + ": " + what};
  }

  [[nodiscard]] std::string path(const std::string& text) const {
    return text.empty() || text.front() == '/' || directory_.empty() ? text : directory_ + "/" + text;
  }

  /// Data wins over a file, as in kubectl.
  PemSource pem(std::string& data, const std::string& file, const std::string& place) {
    if (data.empty()) return {.text = {}, .file = path(file)};
    std::erase_if(data, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    auto decoded = protocol::decode_base64(data);
    if (!decoded) refuse(place + ": the data is not base64");
    return {.text = decoded.value_or(std::string{}), .file = {}};
  }

  /// The cluster's extension for plugins (client.authentication.k8s.io, "ExecCredential") as JSON.
  static std::string exec_config(const std::vector<WireExtension>& extensions) {
    const auto found = std::ranges::find(extensions, "client.authentication.k8s.io/exec", &WireExtension::name);
    if (found == extensions.end() || found->extension.is_null()) return {};
    return found->extension.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  ClusterEntry read(WireCluster& wire, const std::string& place) {
    return {.server = std::move(wire.server),
            .certificate_authority = pem(wire.certificate_authority_data, wire.certificate_authority,
                                         place + ", certificate-authority-data"),
            .tls_server_name = std::move(wire.tls_server_name),
            .proxy_url = std::move(wire.proxy_url),
            .exec_config = exec_config(wire.extensions),
            .insecure_skip_tls_verify = wire.insecure_skip_tls_verify};
  }

  std::map<std::string, std::vector<std::string>> extra(const nlohmann::json& wire, const std::string& place) {
    std::map<std::string, std::vector<std::string>> extra;
    const auto wrong = [&] { refuse(place + ", as-user-extra: expected lists of texts by name"); };
    if (!wire.is_null() && !wire.is_object()) wrong();
    if (!wire.is_object()) return extra;
    for (const auto& [name, values] : wire.items()) {
      if (!values.is_array()) wrong();
      for (const nlohmann::json& value : values) {
        const bool is_text = value.is_string() && !value.get_ref<const std::string&>().contains('\0');
        if (!is_text) wrong();
        if (is_text) extra[name].push_back(value.get<std::string>());
      }
    }
    return extra;
  }

  UserEntry read(WireUser& wire, const std::string& place) {
    UserEntry user{.client_certificate =
                       pem(wire.client_certificate_data, wire.client_certificate, place + ", client-certificate-data"),
                   .client_key = pem(wire.client_key_data, wire.client_key, place + ", client-key-data"),
                   .token = std::move(wire.token),
                   .token_file = path(wire.token_file),
                   .username = std::move(wire.username),
                   .password = std::move(wire.password),
                   .impersonate = std::move(wire.impersonate),
                   .impersonate_uid = std::move(wire.impersonate_uid),
                   .impersonate_groups = std::move(wire.impersonate_groups),
                   .impersonate_extra = extra(wire.impersonate_extra, place),
                   .exec = {},
                   .auth_provider = wire.auth_provider ? wire.auth_provider->name : std::string{}};
    if (wire.exec) user.exec = read(*wire.exec, place);
    return user;
  }

  ExecPlugin read(WireExec& wire, const std::string& place) {
    const std::string& version = wire.api_version;
    if (version != "client.authentication.k8s.io/v1" && version != "client.authentication.k8s.io/v1beta1") {
      refuse(place + ", exec: apiVersion \"" + version + "\" is not known, v1 and v1beta1 are: update the plugin");
    }
    std::string& mode = wire.interactive_mode;
    if (mode.empty() && version.ends_with("/v1beta1")) mode = "IfAvailable";
    if (mode != "Never" && mode != "IfAvailable" && mode != "Always") {
      refuse(place + ", exec: interactiveMode must be Never, IfAvailable or Always");
    }
    ExecPlugin plugin{.api_version = version,
                      .command = std::move(wire.command),
                      .arguments = std::move(wire.args),
                      .environment = {},
                      .install_hint = std::move(wire.install_hint),
                      .provide_cluster_info = wire.provide_cluster_info,
                      .interactive_mode = std::move(mode)};
    if (plugin.command.find('/') != std::string::npos) plugin.command = path(plugin.command);
    for (WireVariable& variable : wire.env) {
      plugin.environment.push_back({std::move(variable.name), std::move(variable.value)});
    }
    return plugin;
  }

  ContextEntry read(WireContext& wire, const std::string&) {
    return {.cluster = std::move(wire.cluster),
            .user = std::move(wire.user),
            .namespace_name = std::move(wire.namespace_name)};
  }

  const std::string origin_;
  const std::string directory_;
  std::optional<Error> error_;
};

void merge(Kubeconfig& into, Kubeconfig from) {
  into.origin += (into.origin.empty() ? "" : ":") + from.origin;
  into.clusters.merge(from.clusters);
  into.users.merge(from.users);
  into.contexts.merge(from.contexts);
  if (into.current_context.empty()) into.current_context = std::move(from.current_context);
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view yaml, std::string origin, const std::string& directory) {
  auto json = parse_yaml(yaml);
  if (!json) return fail(Errc::invalid_field, origin + " is not a kubeconfig: " + json.error().message);
  Kubeconfig config;
  config.origin = origin;
  if (json->is_null()) return config;
  if (!json->is_object()) return fail(Errc::invalid_field, origin + " is not a kubeconfig: it has no fields");
  std::vector<std::string> ignored;
  auto wire = protocol::decode_json<WireKubeconfig>(*json, &ignored);
  if (!wire) return fail(Errc::invalid_field, origin + " is not a kubeconfig: " + wire.error().message);
  if (!wire->kind.empty() && wire->kind != "Config") {
    return fail(Errc::invalid_field, origin + " is not a kubeconfig: its kind is \"" + wire->kind + "\"");
  }
  Reading reading{std::move(origin), directory};
  reading.take(wire->clusters, "cluster", config.clusters);
  reading.take(wire->users, "user", config.users);
  reading.take(wire->contexts, "context", config.contexts);
  if (reading.error()) return std::unexpected{*reading.error()};
  config.current_context = std::move(wire->current_context);
  return config;
}

Result<Kubeconfig> load_kubeconfig(std::span<const std::string> paths, bool may_be_missing) {
  Kubeconfig merged;
  for (const std::string& path : paths) {
    auto text = read_small_file(path, kMostConfigBytes);
    if (!text) {
      if (may_be_missing && text.error().code == Errc::path_not_found) continue;
      return fail(text.error().code, "kubeconfig: " + text.error().message);
    }
    std::error_code no_working_directory;
    const std::string directory = std::filesystem::absolute(path, no_working_directory).parent_path();
    auto config = parse_kubeconfig(*text, path, directory);
    wipe(*text);
    if (!config) return config;
    merge(merged, std::move(*config));
  }
  return merged;
}

}  // namespace skiff::kube
