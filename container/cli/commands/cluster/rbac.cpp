#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/rbac.hpp"

namespace skiff::container {
namespace {

std::string yaml_documents(const std::vector<nlohmann::json>& objects) {
  std::string text;
  for (const nlohmann::json& object : objects) text += (text.empty() ? "" : "---\n") + format_yaml(object);
  return text;
}

std::string names(const std::vector<nlohmann::json>& objects) {
  std::string text;
  for (const nlohmann::json& object : objects) {
    text += object.at("kind").get<std::string>() + "/" + object.at("metadata").at("name").get<std::string>() + "\n";
  }
  return text;
}

class Rbac final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "role-name",
             .target = setting::Text{&role_.name},
             .value = "NAME",
             .help = "Name of the Role and its binding."},
            {.flag = "service-account",
             .target = setting::Text{&role_.service_account},
             .value = "NAME",
             .help = "Also print a ServiceAccount of this name, and a binding of the Role to it."},
            {.flag = "all-namespaces",
             .target = setting::Switch{&role_.all_namespaces},
             .help = "Print a ClusterRole, for commands in every namespace.",
             .letter = 'A'},
            {.flag = "namespace-per-sandbox",
             .target = setting::Switch{&namespace_per_sandbox_},
             .help = "Print a ClusterRole that also permits one namespace for each sandbox."},
            {.flag = "tenant",
             .target = setting::List{&tenants_},
             .value = "NAMESPACE",
             .help = "For `serve`: a namespace of sandboxes other than the server's. Each gets a Role and a binding; "
                     "in its own namespace the server then only reads the API keys."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const Options& options = context.options();
    role_.all_namespaces = role_.all_namespaces || namespace_per_sandbox_;
    SKIFF_CO_TRY(auto gateway, own_gateway(options));
    RightsOf wanted{.commands = std::move(arguments.words),
                    .driver = options.driver == "claim" ? ClusterDriver::claim : ClusterDriver::pod,
                    .namespace_per_sandbox = namespace_per_sandbox_,
                    .gateway = std::move(gateway),
                    .name_prefix = options.name_prefix};
    role_.namespace_name = options.access.namespace_name;
    SKIFF_CO_TRY(auto objects, tenants_.empty() ? roles_of(wanted) : roles_of_server(std::move(wanted)));
    // A Role is for kubectl, so the default output is YAML instead of a table.
    if (options.output == "table" || options.output == "wide" || options.output == "yaml") {
      SKIFF_CO_TRY_VOID(print(yaml_documents(objects)));
      co_return 0;
    }
    const std::string lines = names(objects);
    const nlohmann::json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(objects)}};
    SKIFF_CO_TRY_VOID(context.show(list, lines, lines));
    co_return 0;
  }

 private:
  /// The name of the Gateway in --gateway, which must be in the Role's namespace.
  [[nodiscard]] Result<std::string> own_gateway(const Options& options) const {
    const std::size_t slash = options.gateway.find('/');
    if (slash == std::string::npos) return options.gateway;
    const bool is_elsewhere = options.gateway.substr(0, slash) != options.access.namespace_name;
    if (!is_elsewhere || role_.all_namespaces) return options.gateway.substr(slash + 1);
    return fail(Errc::invalid_field,
                "--gateway " + options.gateway + " is in another namespace than the Role: add --all-namespaces",
                "--gateway");
  }

  [[nodiscard]] Result<std::vector<nlohmann::json>> role_of(const RightsOf& wanted) const {
    SKIFF_TRY(auto rules, rules_of(wanted));
    if (rules.empty()) return fail(Errc::invalid_field, "that needs nothing of a cluster");
    return role_objects(rules, role_);
  }

  /// The role, and one in the namespace of the egress proxy if a command works there, too.
  [[nodiscard]] Result<std::vector<nlohmann::json>> roles_of(RightsOf wanted) const {
    SKIFF_TRY(auto objects, role_of(wanted));
    wanted.place = RightsIn::egress;
    SKIFF_TRY(auto rules, rules_of(wanted));
    if (rules.empty() || wanted.driver == ClusterDriver::claim) return objects;
    if (role_.namespace_name.empty() || role_.all_namespaces) {
      return fail(Errc::missing_field,
                  "secrets are kept beside one namespace of sandboxes: name it by -n, and omit --all-namespaces",
                  "--namespace");
    }
    RoleOptions there = role_;
    there.namespace_name = egress_namespace(role_.namespace_name);
    there.account_namespace = role_.namespace_name;
    std::ranges::move(role_objects(rules, there), std::back_inserter(objects));
    return objects;
  }

  /// The roles of a server whose sandboxes are in other namespaces.
  [[nodiscard]] Result<std::vector<nlohmann::json>> roles_of_server(RightsOf wanted) const {
    if (wanted.commands != std::vector<std::string>{"serve"}) {
      return fail(Errc::invalid_field, "--tenant works only with `skiff rbac serve`", "--tenant");
    }
    if (role_.all_namespaces) {
      return fail(Errc::invalid_field, "--tenant names the namespaces: omit --all-namespaces", "--tenant");
    }
    if (role_.service_account.empty() || role_.namespace_name.empty()) {
      return fail(Errc::missing_field,
                  "--tenant needs the account that gets the permissions: --service-account, --namespace",
                  "--service-account");
    }
    std::set<std::string> tenants{tenants_.begin(), tenants_.end()};
    wanted.place = tenants.erase(role_.namespace_name) > 0 ? RightsIn::one_namespace : RightsIn::home;
    SKIFF_TRY(auto objects, role_of(wanted));
    wanted.place = RightsIn::tenant;
    SKIFF_TRY(auto rules, rules_of(wanted));
    for (const std::string& tenant : tenants) {
      RoleOptions there = role_;
      there.namespace_name = tenant;
      there.account_namespace = role_.namespace_name;
      std::ranges::move(role_objects(rules, there), std::back_inserter(objects));
    }
    return objects;
  }

  RoleOptions role_;
  std::vector<std::string> tenants_;
  bool namespace_per_sandbox_ = false;
};

}  // namespace

Command rbac_command() {
  return {
      .name = "rbac",
      .group = "Operators",
      .summary = "print the smallest Role that commands need in a cluster",
      .text =
          "Without COMMAND the Role covers all commands. With --driver claim it covers SandboxClaims, with --gateway\n"
          "reading that Gateway.\n"
          "\n"
          "  skiff rbac | kubectl apply -f -\n"
          "  skiff rbac run exec --service-account agent | kubectl apply -f -\n"
          "  skiff rbac gc --all-namespaces\n"
          "  skiff rbac serve --service-account skiff-serve -n skiff-serve --tenant team-a | kubectl apply -f -",
      .words = {{.name = "COMMAND", .kind = WordKind::command, .optional = true, .repeated = true}},
      .make = &create_invocation<Rbac>};
}

}  // namespace skiff::container
