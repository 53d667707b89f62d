#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/rbac.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/key_store.hpp"
#include "protocol/http/client.hpp"

/// What `skiff serve` needs around it, for `skiff doctor --serve`.
namespace skiff::container {

struct KeysSeen {
  Check check;
  std::set<std::string> tenants = {};  ///< of the keys that have not ended
};
/// Whether the API keys can be read, and whether one is good for anything.
[[nodiscard]] Task<KeysSeen> examine_api_keys(serve::KeyStore* keys);

/// Whether whoever asks may do in each tenant's namespace what the server does there; of the first 50 tenants.
/// `cluster` is that of the server's own namespace.
[[nodiscard]] Task<std::vector<Check>> examine_tenants(Cluster* cluster, ClusterDriver driver,
                                                       std::set<std::string> tenants);

/// Where a server is said to be.
struct ServerAddress {
  std::string url = {};                    ///< of the server itself; empty: it is not asked
  std::string domain = {};                 ///< of its sandboxes, as `serve::parse_domain` has it; empty: none
  std::string certificate_authority = {};  ///< PEM: trust these, not the system's store
  protocol::Resolver resolver = {};
  std::uint16_t https_port = 443;  ///< of the proxy that the domain leads to
};
/// Asks /readyz at the URL, and compares its clock. Looks for a name below the domain, and whether the server's gateway
/// answers there behind a certificate that is good for it.
[[nodiscard]] Task<std::vector<Check>> examine_addresses(Executor executor, ServerAddress address);

}  // namespace skiff::container
