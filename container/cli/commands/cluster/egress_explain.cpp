#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/egress/explain.hpp"
#include "container/egress/policy.hpp"

namespace skiff::container {
namespace {

/// The names of a server are looked up when a command connects, and not before.
constexpr const char* kAddresses =
    "Its addresses are judged when a command connects: all must be public, else it is refused with private_address. "
    "They have not been looked up now.";

class EgressExplain final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& name = arguments.words.at(0);
    const std::string& wanted = arguments.words.at(1);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(const auto state, co_await driver->set_egress(name, {}));
    SKIFF_CO_TRY(const auto policy, egress::Policy::parse(state.rules));
    const auto found = egress::explain(state.is_unreadable ? nullptr : &policy, wanted, name);
    nlohmann::ordered_json value{{"name", name}, {"wanted", wanted}};
    std::string text;
    if (!found.target.host.empty()) {
      value["host"] = found.target.host;
      value["port"] = found.target.port;
    }
    if (found.refusal) {
      value["verdict"] = "denied";
      value["code"] = found.refusal->code;
      value["detail"] = found.refusal->detail;
      text = wanted + " is refused: " + std::string{found.refusal->code} + "\n" + found.refusal->detail + "\n";
    } else {
      value["verdict"] = "allowed";
      value["rule"] = found.rule;
      value["addresses"] = "not looked up";
      text = wanted + " is allowed by the rule " + found.rule + "\n" + kAddresses + "\n";
    }
    if (!found.remedy.empty()) value["remedy"] = "skiff network " + name + " --egress '+" + found.remedy + "'";
    const std::string verdict = value["verdict"].get<std::string>() + "\n";
    SKIFF_CO_TRY_VOID(context.show(value, text, verdict));
    co_return found.refusal ? 1 : 0;
  }
};

}  // namespace

Command egress_explain_command() {
  return {.name = "egress explain",
          .group = "Sandboxes",
          .summary = "say which rule lets a sandbox reach a server, or why none does",
          .text =
              "The sandbox's own rules are judged as its proxy does it. HOST stands for port 443, and http:// for\n"
              "requests without TLS. Nothing is connected and no name is looked up, so the addresses are not judged.\n"
              "Exit status: 0 allowed, 1 refused.\n"
              "\n"
              "  skiff egress explain demo pypi.org\n"
              "  skiff egress explain demo http://deb.debian.org/debian/",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "TARGET"}},
          .make = &create_invocation<EgressExplain>};
}

}  // namespace skiff::container
