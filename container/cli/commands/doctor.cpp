#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/sandbox/agent_checks.hpp"

namespace skiff::container {
namespace {

class Doctor final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "agent-image",
             .environment = "SKIFF_AGENT_IMAGE",
             .target = setting::Text{&agent_image_},
             .value = "IMAGE",
             .group = "",
             .help = "The image with skiffd that `up` would take it from."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    context.set_agent_image(agent_image_);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    std::vector<Check> checks = co_await driver->examine();
    // What comes first is whether the host answers at all.
    const bool answers = checks.front().passed;
    // What somebody else has started may have any version.
    if (answers && driver->name() != "direct" && driver->name() != "serve")
      checks.push_back(co_await examine_agents(driver, context.options().owner));
    nlohmann::json items = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{{"driver", "ok", std::string{driver->name()}}};
    std::string remedies;
    bool all_passed = true;
    for (const Check& check : checks) {
      items.push_back(
          {{"what", check.what}, {"passed", check.passed}, {"detail", check.detail}, {"remedy", check.remedy}});
      rows.push_back({check.what, check.passed ? "ok" : "FAILED", check.detail});
      if (check.passed) continue;
      all_passed = false;
      remedies += "\n" + check.what + ": " + check.remedy + "\n";
    }
    const nlohmann::json value{{"driver", driver->name()}, {"passed", all_passed}, {"items", std::move(items)}};
    SKIFF_CO_TRY_VOID(context.show(value, format_table(rows) + remedies, ""));
    if (!all_passed) co_return fail(Errc::not_supported, "not everything is as it must be");
    co_return 0;
  }

 private:
  std::string agent_image_;
};

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .group = "Help",
          .summary = "check that everything that the driver needs is there",
          .text = "",
          .words = {},
          .makes_sandboxes = true,
          .make = &make_invocation<Doctor>};
}

}  // namespace skiff::container
