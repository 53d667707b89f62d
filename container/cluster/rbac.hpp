#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

/// What skiff's commands need of a cluster's API, as one table: roles, `skiff doctor` and messages come from it.
namespace skiff::container {

/// The drivers that work on a cluster.
enum class ClusterDriver : std::uint8_t { pod, claim };

/// Some objects of the API and what is done with them: an entry of a Role's `rules` (PolicyRule of
/// rbac.authorization.k8s.io/v1).
struct ApiRule {
  std::string group;            ///< empty: the core group
  std::string resource;         ///< "pods", "pods/portforward"
  std::string name;             ///< only the object of this name; empty: any
  std::set<std::string> verbs;  ///< of the API: get, list, ...

  bool operator==(const ApiRule&) const = default;
};

/// A command that works for several namespaces from one of its own, as `serve` does, needs something else in each.
enum class RightsIn : std::uint8_t {
  one_namespace,  ///< which is all of them
  home,           ///< that of the process itself
  tenant,         ///< one of those in which sandboxes are
};

/// Whose needs are asked for.
struct RightsOf {
  /// First words of command lines: `run`, `files`; empty: all but those of operators (`key`).
  std::vector<std::string> commands = {};
  ClusterDriver driver = ClusterDriver::pod;
  RightsIn place = RightsIn::one_namespace;
  bool namespace_per_sandbox = false;
  std::string gateway = {};            ///< the Gateway by which agents are reached; empty: none
  std::string name_prefix = "skiff-";  ///< of objects that are known by name
};

/// The first words of all commands, in the order of the help.
[[nodiscard]] std::vector<std::string_view> commands_with_rights();

/// The least that those commands need: each kind of object once, sorted. Error: `invalid_field` for what is not a
/// command.
[[nodiscard]] Result<std::vector<ApiRule>> rules_of(const RightsOf& wanted);

/// The objects that give these rights.
struct RoleOptions {
  std::string name = "skiff";
  std::string namespace_name = {};  ///< empty: left to whoever applies them
  bool all_namespaces = false;      ///< a ClusterRole, and a ClusterRoleBinding
  /// Also a ServiceAccount of this name, bound to the role; empty: none. Its binding has to name a namespace: that is
  /// `namespace_name`, or "default".
  std::string service_account = {};
  /// Where that ServiceAccount is, when it is another namespace: then it is not among the objects.
  std::string account_namespace = {};
};
[[nodiscard]] std::vector<nlohmann::json> role_objects(const std::vector<ApiRule>& rules, const RoleOptions& options);

/// The error's message, and what to do about it when it is the API server that says that somebody has no right to
/// something. `command` is the skiff command that met it.
[[nodiscard]] std::string with_right_hint(const Error& error, std::string_view command);

}  // namespace skiff::container
