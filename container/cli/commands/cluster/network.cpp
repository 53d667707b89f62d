#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/rules/profiles.hpp"

namespace skiff::container {
namespace {

class Network final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {
        {.flag = "network",
         .target = setting::Text{&network_},
         .value = "POLICY",
         .help = "What the sandbox may reach from now on: open, deny, dns, or cidr=10.0.0.0/8,...",
         .shown_default = "as it was"},
        {.flag = "allow",
         .target = setting::List{&allow_},
         .value = "CIDR",
         .help = "Only these addresses may reach the sandbox; 0.0.0.0/0 and ::/0 admit everyone.",
         .shown_default = "as it was"},
        {.flag = "egress",
         .target = setting::List{&egress_},
         .value = "HOST[:PORT]",
         .help = "Names that a sandbox may reach from now on, in place of those before. +HOST adds a rule, and -HOST "
                 "removes one. Connections to others are cut.",
         .shown_default = "as it was"},
        dry_run_.row("Only print the policy as it would be.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& name = arguments.words.at(0);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    const bool changes = !dry_run_.is_wanted();
    const bool names_addresses = !network_.empty() || !allow_.empty();
    if (!egress_.empty() && names_addresses) {
      co_return fail(Errc::invalid_field, "--egress names all that it may reach: omit --network and --allow",
                     "--egress");
    }
    bool is_of_names = !egress_.empty();
    if (!is_of_names && !names_addresses) {
      SKIFF_CO_TRY(is_of_names, co_await has_names(driver, name));
    }
    if (is_of_names) {
      SKIFF_CO_TRY(const auto wanted, change_in(egress_));
      SKIFF_CO_TRY(const auto state, co_await driver->set_egress(name, changes ? wanted : EgressChange{}));
      auto policy = egress::Policy::parse(state.rules);
      if (!changes && !wanted.is_empty())
        policy = egress::Policy::after(state.rules, wanted.rules, wanted.added, wanted.removed);
      if (!policy) co_return std::unexpected{std::move(policy.error())};
      std::string shown = name + " may reach:";
      for (const std::string& rule : policy->rules()) shown += " " + rule;
      if (policy->rules().empty()) shown += " nothing";
      if (state.is_unreadable) shown = name + " reaches nothing: the rules of its Pod cannot be read; name them again";
      SKIFF_CO_TRY_VOID(
          context.show({{"name", name}, {"egress", policy->rules()}, {"generation", policy->generation()}},
                       shown + "\n", name + "\n"));
      co_return 0;
    }
    SKIFF_CO_TRY(auto now, co_await driver->set_network(name, changes ? network_ : "",
                                                        changes ? allow_ : std::vector<std::string>{}));
    if (!changes) {
      if (!network_.empty()) now.network = network_;
      if (!allow_.empty()) now.allow = allow_;
      SKIFF_CO_TRY_VOID(check_pod_options(now));
    }
    const nlohmann::json value{{"name", name}, {"network", now.network}, {"allow", now.allow}};
    std::string from;
    for (const std::string& cidr : now.allow) from += (from.empty() ? "" : ", ") + cidr;
    const std::string line =
        name + " may reach: " + now.network + "; may be reached from: " + (from.empty() ? "everywhere" : from) + "\n";
    SKIFF_CO_TRY_VOID(context.show(value, line, name + "\n"));
    co_return 0;
  }

 private:
  static Result<EgressChange> change_in(const std::vector<std::string>& given) {
    EgressChange change;
    for (const std::string& text : given) {
      const bool is_change = text.starts_with('+') || text.starts_with('-');
      if (text.starts_with('+')) {
        change.added.push_back(text.substr(1));
      } else if (is_change) {
        change.removed.push_back(text.substr(1));
      } else {
        if (!change.rules) change.rules.emplace();
        change.rules->push_back(text);
      }
    }
    if (change.rules && change.rules->size() < given.size()) {
      return fail(Errc::invalid_field,
                  "--egress: either rules that replace all others, or changes of single ones: +HOST and -HOST",
                  "--egress");
    }
    if (change.rules) {
      SKIFF_TRY(change.rules, egress::with_profiles(*change.rules));
    }
    SKIFF_TRY(change.added, egress::with_profiles(change.added));
    SKIFF_TRY(change.removed, egress::with_profiles(change.removed));
    return change;
  }

  /// True if the sandbox has egress by name.
  static Task<Result<bool>> has_names(Driver* driver, std::string name) {
    const bool is_box = driver->name() == "box";
    if (!is_box && driver->name() != "pod") co_return false;
    auto state = co_await driver->set_egress(std::move(name), {});
    if (!state && state.error().code == Errc::invalid_field && !is_box) co_return false;
    if (!state) co_return std::unexpected{std::move(state.error())};
    co_return true;
  }

  std::string network_;
  std::vector<std::string> allow_;
  std::vector<std::string> egress_;
  DryRun dry_run_;
};

}  // namespace

Command network_command() {
  return {
      .name = "network",
      .group = "Sandboxes",
      .summary = "change what a sandbox may reach, and who may reach it",
      .text =
          "The change takes effect immediately if the cluster enforces NetworkPolicy, and survives stop and start.\n"
          "Without flags skiff shows the current policy. Access through the API server (port-forward, proxy) is not\n"
          "restricted.\n"
          "\n"
          "--egress is for a sandbox that was made with --egress; the other flags are for other sandboxes of "
          "clusters.\n"
          "\n"
          "  skiff network demo --allow 203.0.113.7/32 --network dns\n"
          "  skiff network demo --egress pypi.org --egress '*.example.com:8443'\n"
          "  skiff network demo --egress +files.example.com --egress -pypi.org",
      .words = {{.name = "NAME", .kind = WordKind::sandbox}},
      .make = &create_invocation<Network>};
}

}  // namespace skiff::container
