#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/sandbox/sandbox.hpp"

/// The secrets of a namespace of sandboxes, which are kept in that of its egress proxy.
namespace skiff::container {

/// Adds it, or replaces the one of that name. Its certificate authority stays if its hosts do, so sandboxes that exist
/// go on.
[[nodiscard]] Task<Result<>> set_egress_secret(Cluster* cluster, egress::Secret secret);
/// Sorted by name, with their values.
[[nodiscard]] Task<Result<std::vector<egress::Secret>>> list_egress_secrets(Cluster* cluster);
/// `not_found` if there is none.
[[nodiscard]] Task<Result<>> remove_egress_secret(Cluster* cluster, std::string name);

/// A new sandbox's part in its secrets.
struct EgressTrust {
  std::vector<std::string> rules = {};  ///< their hosts
  std::string annotation = {};          ///< kEgressSecretsAnnotation
  std::string ca_pem = {};
  std::map<std::string, std::string> variables = {};  ///< of commands, with placeholders
};
/// Reads what the namespace of sandboxes may know of these secrets. `not_found` if one is missing, `invalid_field` if
/// two are for one server.
[[nodiscard]] Task<Result<EgressTrust>> read_egress_trust(Cluster* cluster, std::vector<std::string> names);

/// Describes these secrets by what the namespace of sandboxes may know. One that is missing has no hosts.
[[nodiscard]] Task<Result<std::vector<UsedSecret>>> describe_egress_secrets(Cluster* cluster,
                                                                            std::vector<std::string> names);

}  // namespace skiff::container
