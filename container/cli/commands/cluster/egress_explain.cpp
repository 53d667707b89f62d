#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/egress/explain.hpp"
#include "container/egress/policy.hpp"
#include "protocol/http/parser.hpp"

namespace skiff::container {
namespace {

/// The names of a server are looked up when a command connects, and not before.
constexpr const char* kAddresses =
    "Its addresses are judged when a command connects: all must be public, else it is refused with private_address. "
    "They have not been looked up now.";

constexpr const char* kUnseen = "Its methods and paths are not seen: no secret is for it.\n";

class EgressExplain final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& name = arguments.words.at(0);
    const std::string& wanted = arguments.words.back();
    if (arguments.words.size() > 3) {
      co_return fail(Errc::invalid_field, "expected one TARGET, or METHOD and TARGET", "TARGET");
    }
    const std::string method = arguments.words.size() > 2 ? arguments.words.at(1) : "";
    if (!method.empty() && !protocol::is_token(method)) {
      co_return fail(Errc::invalid_field, "METHOD: expected one as GET or POST", "METHOD");
    }
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(const auto state, co_await driver->set_egress(name, {}));
    SKIFF_CO_TRY(const auto policy, egress::Policy::parse(state.rules));
    std::vector<egress::Secret> secrets;
    for (const UsedSecret& one : state.secrets) {
      secrets.push_back({.name = one.name, .hosts = one.hosts, .header = {}, .requests = one.requests, .value = {}});
    }
    const auto found = egress::explain(state.is_unreadable ? nullptr : &policy, wanted, name, method, secrets);
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
      text = wanted + " is allowed by the rule " + found.rule + "\n";
      if (!found.secret.empty()) text += "The secret " + found.secret + " is for it.\n";
      if (!method.empty() && found.secret.empty()) text += kUnseen;
      text += std::string{kAddresses} + "\n";
    }
    if (!found.secret.empty()) value["secret"] = found.secret;
    if (found.refusal && !found.refusal->rule.empty()) {
      value["remedy"] = "skiff network " + name + " --egress '+" + found.refusal->rule + "'";
    }
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
              "requests without TLS. If a secret is for the host of a URL, the request is judged: a GET unless METHOD\n"
              "is before it. For other hosts the proxy sees neither method nor path. Nothing is connected and no name\n"
              "is looked up, so the addresses are not judged.\n"
              "Exit status: 0 allowed, 1 refused.\n"
              "\n"
              "  skiff egress explain demo pypi.org\n"
              "  skiff egress explain demo http://deb.debian.org/debian/\n"
              "  skiff egress explain demo POST https://github.com/acme/app.git/git-receive-pack",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "TARGET", .repeated = true}},
          .make = &create_invocation<EgressExplain>};
}

}  // namespace skiff::container
