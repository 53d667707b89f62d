#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/auth/kubeconfig.hpp"
#include "container/net/proxy.hpp"
#include "container/net/url.hpp"

namespace skiff::kube {

/// The identity that requests are sent with.
struct Identity {
  std::string certificate_pem = {};  ///< certificate with its chain; empty: none
  std::string key_pem = {};
  std::string certificate_file =
      {};  ///< the certificate's file, which is read again; empty: the certificate cannot change
  std::string key_file = {};
  std::string token = {};
  std::string token_file = {};  ///< read again regularly; once it could be read, it wins over `token`
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
  net::Url server = {};
  std::optional<net::Url> proxy = {};
  std::string ca_pem = {};   ///< empty: the system's store
  std::string ca_file = {};  ///< the file of `ca_pem`, which is read again
  std::string tls_server_name = {};
  bool insecure_skip_tls_verify = false;
  std::string namespace_name = "default";
  bool from_pod = false;         ///< the cluster is that of the Pod in which this process runs
  std::string exec_config = {};  ///< the kubeconfig's JSON for plugins about this cluster; empty: none
  Identity identity = {};
};

/// The user's options. Empty fields were not given.
struct AccessOptions {
  std::string kubeconfig = {};  ///< use only this file
  std::string context = {};
  std::string server = {};  ///< its certificate must match its own name, not the kubeconfig's tls-server-name
  std::string token = {};   ///< replaces the user of the kubeconfig
  std::string namespace_name = {};
  /// A file that replaces the kubeconfig's authority or the system's store. With it, the server's certificate is always
  /// checked, whatever the kubeconfig says.
  std::string certificate_authority = {};
  /// The directory of a Pod's service account.
  std::string service_account_directory = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// Finds the cluster. It looks in this order: `kubeconfig`, SKIFF_KUBECONFIG_DATA (the text itself), KUBECONFIG (files
/// separated by ':'), ~/.kube/config, `server` alone, the service account of the Pod in which this process runs. Reads
/// every file that the configuration names and checks the client certificate's dates. Errors: `not_found` when no
/// cluster is configured anywhere, else one line that names the problem and the place.
[[nodiscard]] Result<Access> find_access(const AccessOptions& options, const net::Environment& environment,
                                         WallTime now = wall_now());

}  // namespace skiff::kube
