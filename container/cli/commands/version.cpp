#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/printable.hpp"

namespace skiff::container {
namespace {

class Version final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    nlohmann::json value{{"skiff", SKIFF_VERSION}};
    std::string text = "skiff " SKIFF_VERSION "\n";
    if (!arguments.words.empty()) {
      auto agent = co_await context.agent(arguments.words.front(), {.scope = "read"});
      if (!agent) co_return std::unexpected{std::move(agent.error())};
      auto answer = co_await (*agent)->get("/v1/version");
      if (!answer) co_return std::unexpected{std::move(answer.error())};
      AgentAnswer known{*answer, "its version"};
      const std::string version = known.text("version");
      if (auto fits = known.check(); !fits) co_return std::unexpected{std::move(fits.error())};
      value["skiffd"] = version;
      text += "skiffd " + printable(version) + "\n";
    }
    if (auto shown = context.show(value, text, text); !shown) co_return std::unexpected{std::move(shown.error())};
    co_return 0;
  }
};

}  // namespace

Command version_command() {
  return {.name = "version",
          .group = "Help",
          .summary = "print the version, and that of a sandbox's agent",
          .text = "",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true}},
          .make = &make_invocation<Version>};
}

}  // namespace skiff::container
