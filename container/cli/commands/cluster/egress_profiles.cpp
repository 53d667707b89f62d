#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/egress/rules/profiles.hpp"

namespace skiff::container {
namespace {

class EgressProfiles final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    std::vector<std::vector<std::string>> rows{{"NAME", "RULES"}};
    nlohmann::json items = nlohmann::json::array();
    std::string names;
    for (const egress::Profile& one : egress::profiles()) {
      const std::string name = "@" + std::string{one.name};
      std::string rules;
      for (const std::string_view rule : one.rules) rules.append(rules.empty() ? "" : " ").append(rule);
      rows.push_back({name, std::move(rules)});
      items.push_back({{"name", name}, {"rules", one.rules}});
      names += name + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", std::move(items)}}, format_table(rows), names));
    co_return 0;
  }
};

}  // namespace

Command egress_profiles_command() {
  return {.name = "egress profiles",
          .group = "Sandboxes",
          .summary = "list the profiles: words that stand for the hosts of a tool",
          .text =
              "Everywhere that takes a rule of egress by name, @pypi stands for the rules of that profile.\n"
              "\n"
              "  skiff up demo --egress @pypi --egress @npm\n"
              "  skiff network demo --egress -@pypi",
          .make = &create_invocation<EgressProfiles>};
}

}  // namespace skiff::container
