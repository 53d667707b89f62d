#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/rbac.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/keys/key_store.hpp"
#include "protocol/http/client.hpp"

/// Checks of the surroundings of `skiff serve`, for `skiff doctor --serve`.
namespace skiff::container {

struct KeysSeen {
  Check check;
  std::set<std::string> tenants = {};  ///< tenants of the keys that have not expired
};
/// Checks that the API keys can be read, and that one is valid.
[[nodiscard]] Task<KeysSeen> examine_api_keys(serve::KeyStore* keys);

/// Checks the caller's permissions for the server's work in the namespaces of the first 50 tenants. `cluster` is that
/// of the server's own namespace.
[[nodiscard]] Task<std::vector<Check>> examine_tenants(Cluster* cluster, ClusterDriver driver,
                                                       std::set<std::string> tenants);

/// The addresses of a server.
struct ServerAddress {
  std::string url = {};                    ///< URL of the server itself; empty: do not check it
  std::string domain = {};                 ///< domain of its sandboxes, from `serve::parse_domain`; empty: none
  std::string certificate_authority = {};  ///< PEM of the authorities to trust instead of the system's store
  protocol::Resolver resolver = {};
  std::uint16_t https_port = 443;  ///< port of the proxy to which the domain leads
};
/// Requests /readyz at the URL and compares the clocks. Resolves a name below the domain, and checks that the server's
/// gateway answers there with a valid certificate.
[[nodiscard]] Task<std::vector<Check>> examine_addresses(Executor executor, ServerAddress address);

}  // namespace skiff::container
