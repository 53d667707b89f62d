#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

/// The rights that skiff's commands need in a cluster, as one table: roles, `skiff doctor` and messages use it.
namespace skiff::container {

/// The drivers that work in a cluster.
enum class ClusterDriver : std::uint8_t { pod, claim };

/// Objects of the API and the verbs on them: an entry of a Role's `rules` (PolicyRule of rbac.authorization.k8s.io/v1).
struct ApiRule {
  std::string group;            ///< empty: the core group
  std::string resource;         ///< "pods", "pods/portforward"
  std::string name;             ///< only the object of this name; empty: any
  std::set<std::string> verbs;  ///< verbs of the API: get, list, ...

  bool operator==(const ApiRule&) const = default;
};

/// The namespace of the rights. A command that works for several namespaces from its own, as `serve` does, needs other
/// rights in each.
enum class RightsIn : std::uint8_t {
  one_namespace,  ///< the process and the sandboxes share one namespace
  home,           ///< the namespace of the process itself
  tenant,         ///< a namespace with sandboxes
  egress,         ///< that of the egress proxy beside such a namespace
};

/// The commands and options whose rights are wanted.
struct RightsOf {
  /// First words of command lines: `run`, `files`; empty: all commands except operators' (`key`).
  std::vector<std::string> commands = {};
  ClusterDriver driver = ClusterDriver::pod;
  RightsIn place = RightsIn::one_namespace;
  bool namespace_per_sandbox = false;
  std::string gateway = {};            ///< the Gateway through which agents are reached; empty: none
  std::string name_prefix = "skiff-";  ///< prefix of objects that are known by name
};

/// The first words of all commands, in the order of the help.
[[nodiscard]] std::vector<std::string_view> commands_with_rights();

/// The smallest rules for these commands: each kind of object once, sorted. `invalid_field` for a word that is not a
/// command.
[[nodiscard]] Result<std::vector<ApiRule>> rules_of(const RightsOf& wanted);

/// Options of the objects that grant these rights.
struct RoleOptions {
  std::string name = "skiff";
  std::string namespace_name = {};  ///< empty: chosen when the objects are applied
  bool all_namespaces = false;      ///< create a ClusterRole and a ClusterRoleBinding
  /// Name of a ServiceAccount to create and bind to the role; empty: none. The binding names the namespace
  /// `namespace_name`, or "default".
  std::string service_account = {};
  /// Namespace of that ServiceAccount if it is another one; then the ServiceAccount is not among the objects.
  std::string account_namespace = {};
};
[[nodiscard]] std::vector<nlohmann::json> role_objects(const std::vector<ApiRule>& rules, const RoleOptions& options);

/// The error's message. If the API server has refused a right, the message also says how to get it for `command`, the
/// skiff command that failed.
[[nodiscard]] std::string with_right_hint(const Error& error, std::string_view command);

}  // namespace skiff::container
