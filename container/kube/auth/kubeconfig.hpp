#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::kube {

/// A program that gives credentials (client.authentication.k8s.io, v1 and v1beta1).
struct ExecPlugin {
  struct Variable {
    std::string name;
    std::string value;
  };
  std::string api_version;  ///< "client.authentication.k8s.io/v1"
  std::string command;      ///< searched on PATH when it contains no slash
  std::vector<std::string> arguments;
  std::vector<Variable> environment;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string interactive_mode;  ///< Never, IfAvailable, Always
};

/// A text that a kubeconfig contains (`...-data`, decoded) or that is in a file.
struct PemSource {
  std::string text;
  std::string file;  ///< absolute, or relative to the working directory when the kubeconfig came as a string
  [[nodiscard]] bool empty() const noexcept { return text.empty() && file.empty(); }
};

struct ClusterEntry {
  std::string server;
  PemSource certificate_authority;
  std::string tls_server_name;
  std::string proxy_url;
  std::string exec_config;  ///< the extension client.authentication.k8s.io/exec as JSON, for plugins
  bool insecure_skip_tls_verify = false;
};

struct UserEntry {
  PemSource client_certificate;
  PemSource client_key;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string impersonate;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::map<std::string, std::vector<std::string>> impersonate_extra;
  std::optional<ExecPlugin> exec;
  std::string auth_provider;  ///< name of a kind of plugin that Kubernetes no longer supports
};

struct ContextEntry {
  std::string cluster;
  std::string user;
  std::string namespace_name;
};

/// The contents of one kubeconfig, or of several merged.
struct Kubeconfig {
  std::string origin;  ///< for messages: the path, or several paths separated by ':'
  std::map<std::string, ClusterEntry> clusters;
  std::map<std::string, UserEntry> users;
  std::map<std::string, ContextEntry> contexts;
  std::string current_context;

  /// True if it has no clusters, users and contexts, and no current context.
  [[nodiscard]] bool empty() const noexcept {
    return clusters.empty() && users.empty() && contexts.empty() && current_context.empty();
  }
};

/// Reads the text of a kubeconfig (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig). Its
/// relative paths start at `directory`. Unknown fields are ignored. Errors: `invalid_field`, one line that names
/// `origin` and the place.
[[nodiscard]] Result<Kubeconfig> parse_kubeconfig(std::string_view yaml, std::string origin,
                                                  const std::string& directory);

/// Reads and merges files as kubectl does: an entry, and the current context, is taken from the first file that has it.
/// With `may_be_missing`, files that do not exist are skipped.
[[nodiscard]] Result<Kubeconfig> load_kubeconfig(std::span<const std::string> paths, bool may_be_missing);

}  // namespace skiff::kube
