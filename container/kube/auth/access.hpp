#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/auth/kubeconfig.hpp"
#include "container/kube/auth/proxy.hpp"
#include "container/kube/auth/url.hpp"

namespace skiff::kube {

/// As whom requests are made.
struct Identity {
  std::string certificate_pem = {};  ///< with its chain; empty: none
  std::string key_pem = {};
  std::string certificate_file = {};  ///< where they came from, and come from anew; empty: they can't change
  std::string key_file = {};
  std::string token = {};
  std::string token_file = {};  ///< read again as it changes; wins over `token` once it could be read
  std::string username = {};
  std::string password = {};
  std::optional<ExecPlugin> exec = {};
  std::string impersonate = {};
  std::string impersonate_uid = {};
  std::vector<std::string> impersonate_groups = {};
  std::map<std::string, std::vector<std::string>> impersonate_extra = {};
};

/// How to reach one cluster.
struct Access {
  std::string origin = {};  ///< for messages: `context "dev" of /home/a/.kube/config`
  Url server = {};
  std::optional<Url> proxy = {};
  std::string ca_pem = {};   ///< empty: the system's store
  std::string ca_file = {};  ///< where that came from, and comes from anew
  std::string tls_server_name = {};
  bool insecure_skip_tls_verify = false;
  std::string namespace_name = "default";
  bool from_pod = false;         ///< it is the cluster of the Pod that this runs in
  std::string exec_config = {};  ///< JSON that the kubeconfig has for plugins about this cluster; empty: none
  Identity identity = {};
};

/// What the user asked for; empty: not said.
struct AccessOptions {
  std::string kubeconfig = {};  ///< only this file
  std::string context = {};
  std::string server = {};  ///< its certificate is for its own name, not for the kubeconfig's tls-server-name
  std::string token = {};   ///< instead of whatever the kubeconfig says about the user
  std::string namespace_name = {};
  /// A file; instead of the kubeconfig's, or of the system's store. With it, the server's certificate is checked
  /// whatever the kubeconfig says.
  std::string certificate_authority = {};
  /// Where a pod finds its service account.
  std::string service_account_directory = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// Finds the cluster. In order: `kubeconfig`, SKIFF_KUBECONFIG_DATA (the text itself), KUBECONFIG (files with ':'
/// between), ~/.kube/config, `server` alone, the service account of the pod that this runs in. Reads every file that it
/// names and checks the client certificate's dates. Errors: `not_found` when no cluster is configured anywhere, else
/// what is wrong and where, in one line.
[[nodiscard]] Result<Access> find_access(const AccessOptions& options, const Environment& environment,
                                         WallTime now = wall_now());

}  // namespace skiff::kube
