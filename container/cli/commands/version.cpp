#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

class Version final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    nlohmann::json value{{"skiff", SKIFF_VERSION}};
    std::string text = "skiff " SKIFF_VERSION "\n";
    if (!arguments.words.empty()) {
      SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.front(), {.scope = "read"}));
      SKIFF_CO_TRY(auto answer, co_await agent->get("/v1/version"));
      AgentAnswer known{answer, "its version"};
      const std::string version = known.text("version");
      SKIFF_CO_TRY_VOID(known.check());
      value["skiffd"] = version;
      text += "skiffd " + printable(version) + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show(value, text, text));
    co_return 0;
  }
};

}  // namespace

Command version_command() {
  return {.name = "version",
          .group = "Help",
          .summary = "print the version of skiff, and of a sandbox's agent",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true}},
          .make = &create_invocation<Version>};
}

}  // namespace skiff::container
