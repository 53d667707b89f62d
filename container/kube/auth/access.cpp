#include "container/kube/auth/access.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/small_file.hpp"
#include "container/kube/auth/certificate.hpp"

namespace skiff::kube {
namespace {

constexpr std::size_t kMostCredentialBytes = 1024 * 1024;

/// The keys of a map as "a, b, c", for a message.
template <class Map>
std::string known(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) {
    if (!names.empty()) names += ", ";
    if (names.size() > 200) return names + "...";
    names += name;
  }
  return names.empty() ? "there is none" : "there are: " + names;
}

template <class Map>
const Map::mapped_type* find(const Map& map, const std::string& name) {
  const auto at = map.find(name);
  return at == map.end() ? nullptr : &at->second;
}

Result<std::string> load(const PemSource& source, std::string_view what) {
  if (source.file.empty()) return source.text;
  auto text = read_small_file(source.file, kMostCredentialBytes);
  if (!text) return fail(text.error().code, std::string{what} + ": " + text.error().message);
  return text;
}

Result<Kubeconfig> find_kubeconfig(const AccessOptions& options, const net::Environment& environment) {
  if (!options.kubeconfig.empty()) return load_kubeconfig({&options.kubeconfig, 1}, false);
  if (const std::string data = environment("SKIFF_KUBECONFIG_DATA"); !data.empty()) {
    return parse_kubeconfig(data, "SKIFF_KUBECONFIG_DATA", {});
  }
  std::vector<std::string> paths;
  const std::string list = environment("KUBECONFIG");
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    std::string path = list.substr(at, colon - at);
    if (!path.empty() && std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
    at = colon + 1;
  }
  if (paths.empty()) {
    const std::string home = environment("HOME");
    if (!home.empty()) paths.push_back(home + "/.kube/config");
    return load_kubeconfig(paths, true);
  }
  auto config = load_kubeconfig(paths, true);
  if (config && config->empty() && options.server.empty()) {
    return fail(Errc::path_not_found,
                "KUBECONFIG names " + list + ", which holds no cluster or is not there: correct it, or unset it");
  }
  return config;
}

/// Access by the service account of the Pod in which this process runs.
Result<Access> in_cluster(const AccessOptions& options, const std::string& host, const std::string& port) {
  const std::string& directory = options.service_account_directory;
  Access access;
  access.origin = "the service account of this pod";
  access.from_pod = true;
  const std::string authority = host.find(':') == std::string::npos ? host : "[" + host + "]";
  SKIFF_TRY(access.server, net::parse_url("https://" + authority + ":" + port, "KUBERNETES_SERVICE_HOST and _PORT"));
  SKIFF_TRY(auto ca, load({.text = {}, .file = directory + "/ca.crt"}, access.origin));
  access.ca_pem = std::move(ca);
  access.ca_file = directory + "/ca.crt";
  access.identity.token_file = directory + "/token";
  if (auto name = read_small_file(directory + "/namespace", 1024)) {
    while (name->ends_with('\n')) name->pop_back();
    if (!name->empty()) access.namespace_name = std::move(*name);
  }
  return access;
}

Result<Identity> identity_of(const UserEntry& user, const std::string& place, WallTime now) {
  if (!user.auth_provider.empty()) {
    return fail(Errc::not_supported, place + " uses the auth-provider \"" + user.auth_provider +
                                         "\", which Kubernetes no longer supports: use an exec plugin instead");
  }
  Identity identity;
  SKIFF_TRY(auto certificate, load(user.client_certificate, place + ", client-certificate"));
  SKIFF_TRY(auto key, load(user.client_key, place + ", client-key"));
  if (certificate.empty() != key.empty()) {
    return fail(Errc::invalid_field, place + " has " +
                                         (key.empty() ? "a client-certificate but no client-key"
                                                      : "a client-key but no client-certificate"));
  }
  if (!certificate.empty()) {
    SKIFF_TRY_VOID(check_certificate(certificate, now, place + ": the client certificate"));
  }
  identity.certificate_pem = std::move(certificate);
  identity.key_pem = std::move(key);
  identity.certificate_file = user.client_certificate.file;
  identity.key_file = user.client_key.file;
  identity.token = user.token;
  identity.token_file = user.token_file;
  identity.username = user.username;
  identity.password = user.password;
  identity.exec = user.exec;
  identity.impersonate = user.impersonate;
  identity.impersonate_uid = user.impersonate_uid;
  identity.impersonate_groups = user.impersonate_groups;
  identity.impersonate_extra = user.impersonate_extra;
  const bool has_more =
      !identity.impersonate_uid.empty() || !identity.impersonate_groups.empty() || !identity.impersonate_extra.empty();
  if (identity.impersonate.empty() && has_more) {
    return fail(Errc::invalid_field, place + " has as-uid, as-groups or as-user-extra without as");
  }
  return identity;
}

Result<> take_cluster(Access& access, const ClusterEntry& cluster, const std::string& place) {
  SKIFF_TRY(access.server, net::parse_url(cluster.server, place + ": its server"));
  SKIFF_TRY(access.ca_pem, load(cluster.certificate_authority, place + ", certificate-authority"));
  access.ca_file = cluster.certificate_authority.file;
  access.tls_server_name = cluster.tls_server_name;
  access.insecure_skip_tls_verify = cluster.insecure_skip_tls_verify;
  access.exec_config = cluster.exec_config;
  if (!cluster.proxy_url.empty()) {
    SKIFF_TRY(access.proxy, net::parse_proxy(cluster.proxy_url, place + ": its proxy-url"));
  }
  return {};
}

Result<Access> from_kubeconfig(const Kubeconfig& config, const AccessOptions& options, WallTime now) {
  const std::string& name = options.context.empty() ? config.current_context : options.context;
  Access access;
  ContextEntry context;
  if (!name.empty()) {
    const ContextEntry* found = find(config.contexts, name);
    if (found == nullptr) {
      return fail(Errc::invalid_field,
                  "the context \"" + name + "\" is not in " + config.origin + ": " + known(config.contexts));
    }
    context = *found;
  } else if (options.server.empty()) {
    return fail(Errc::invalid_field,
                config.origin + " sets no current-context: choose one with --context; " + known(config.contexts));
  }
  access.origin = (name.empty() ? "" : "context \"" + name + "\" of ") + config.origin;
  if (!context.namespace_name.empty()) access.namespace_name = context.namespace_name;

  if (!context.cluster.empty() || options.server.empty()) {
    const ClusterEntry* cluster = find(config.clusters, context.cluster);
    if (cluster == nullptr) {
      return fail(Errc::invalid_field, access.origin + " wants the cluster \"" + context.cluster +
                                           "\", which isn't there: " + known(config.clusters));
    }
    auto taken = take_cluster(access, *cluster, config.origin + ", cluster \"" + context.cluster + "\"");
    // A server that the user gives replaces one that is missing in the kubeconfig.
    if (!taken && options.server.empty()) return std::unexpected{std::move(taken.error())};
  }
  if (!context.user.empty() && options.token.empty()) {
    const UserEntry* user = find(config.users, context.user);
    if (user == nullptr) {
      return fail(Errc::invalid_field, access.origin + " wants the user \"" + context.user +
                                           "\", which isn't there: " + known(config.users));
    }
    SKIFF_TRY(access.identity, identity_of(*user, config.origin + ", user \"" + context.user + "\"", now));
  }
  return access;
}

Result<Access> find_configured(const AccessOptions& options, const net::Environment& environment, WallTime now) {
  SKIFF_TRY(auto config, find_kubeconfig(options, environment));
  if (!config.empty() || !options.kubeconfig.empty()) return from_kubeconfig(config, options, now);
  if (!options.context.empty()) {
    return fail(Errc::not_found, "--context needs a kubeconfig: name one with --kubeconfig or KUBECONFIG");
  }
  if (!options.server.empty()) return Access{.origin = options.server};
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  const std::string token = options.service_account_directory + "/token";
  if (!host.empty() && !port.empty() && ::access(token.c_str(), F_OK) == 0) return in_cluster(options, host, port);
  return fail(Errc::not_found,
              "no cluster is configured: set KUBECONFIG, name a file with --kubeconfig, or give --server, "
              "SKIFF_KUBE_TOKEN and for a private CA --certificate-authority");
}

}  // namespace

Result<Access> find_access(const AccessOptions& options, const net::Environment& environment, WallTime now) {
  auto access = find_configured(options, environment, now);
  if (!access) return access;
  if (!options.server.empty()) {
    SKIFF_TRY(auto server, net::parse_url(options.server, "the server"));
    access->server = std::move(server);
    // As in kubectl: the tls-server-name belongs to the kubeconfig's server.
    access->tls_server_name.clear();
  }
  if (!options.token.empty()) access->identity = Identity{.token = options.token};
  if (!options.namespace_name.empty()) access->namespace_name = options.namespace_name;
  if (!options.certificate_authority.empty()) {
    SKIFF_TRY(access->ca_pem, load({.text = {}, .file = options.certificate_authority}, "--certificate-authority"));
    access->ca_file = options.certificate_authority;
    access->insecure_skip_tls_verify = false;
  }
  if (!access->proxy) {
    SKIFF_TRY(access->proxy, net::proxy_for(access->server, environment));
  }
  return access;
}

}  // namespace skiff::kube
