#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
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
             .help = "Of the Role and its binding."},
            {.flag = "service-account",
             .target = setting::Text{&role_.service_account},
             .value = "NAME",
             .help = "Also a ServiceAccount of this name, and the binding that gives it the Role."},
            {.flag = "all-namespaces",
             .target = setting::Switch{&role_.all_namespaces},
             .help = "A ClusterRole: the commands work in every namespace.",
             .letter = 'A'},
            {.flag = "namespace-per-sandbox",
             .target = setting::Switch{&namespace_per_sandbox_},
             .help = "What namespaces of single sandboxes need, too: a ClusterRole."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const Options& options = context.options();
    role_.all_namespaces = role_.all_namespaces || namespace_per_sandbox_;
    SKIFF_CO_TRY(auto gateway, own_gateway(options));
    SKIFF_CO_TRY(auto rules, rules_of({.commands = std::move(arguments.words),
                                       .driver = options.driver == "claim" ? ClusterDriver::claim : ClusterDriver::pod,
                                       .namespace_per_sandbox = namespace_per_sandbox_,
                                       .gateway = std::move(gateway),
                                       .name_prefix = options.name_prefix}));
    if (rules.empty()) co_return fail(Errc::invalid_field, "these commands need no permission in a cluster");
    role_.namespace_name = options.access.namespace_name;
    std::vector<nlohmann::json> objects = role_objects(rules, role_);
    // A Role is for kubectl: what is a table elsewhere is YAML here.
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
  /// The name of --gateway. A Role holds in one namespace.
  [[nodiscard]] Result<std::string> own_gateway(const Options& options) const {
    const std::size_t slash = options.gateway.find('/');
    if (slash == std::string::npos) return options.gateway;
    const bool is_elsewhere = options.gateway.substr(0, slash) != options.access.namespace_name;
    if (!is_elsewhere || role_.all_namespaces) return options.gateway.substr(slash + 1);
    return fail(Errc::invalid_field,
                "--gateway " + options.gateway + " is in another namespace than the Role: add --all-namespaces",
                "--gateway");
  }

  RoleOptions role_;
  bool namespace_per_sandbox_ = false;
};

}  // namespace

Command rbac_command() {
  return {.name = "rbac",
          .group = "Operators",
          .summary = "print the least Role that commands need in a cluster",
          .text =
              "Of all commands when none is named. With --driver claim it is what SandboxClaims need;\n"
              "with --gateway reading that Gateway is in it.\n\n"
              "  skiff rbac | kubectl apply -f -\n"
              "  skiff rbac run exec --service-account agent | kubectl apply -f -\n"
              "  skiff rbac gc --all-namespaces",
          .words = {{.name = "COMMAND", .kind = WordKind::command, .optional = true, .repeated = true}},
          .make = &make_invocation<Rbac>};
}

}  // namespace skiff::container
