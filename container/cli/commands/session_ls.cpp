#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

class SessionLs final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    SKIFF_CO_TRY(auto items, co_await agent->get_items("/v1/sessions?limit=500"));
    const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
    std::vector<std::vector<std::string>> rows{{"ID", "AGE", "RUNNING", "CWD"}};
    std::string names;
    for (const auto& item : items) {
      AgentAnswer session{item, "a session"};
      rows.push_back({session.text("id"), format_age(session.text("created_at"), now),
                      std::to_string(session.number("commands/live").value_or(0)), session.text("cwd")});
      SKIFF_CO_TRY_VOID(session.check());
      names += printable(rows.back().front()) + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", items}}, format_table(rows), names));
    co_return 0;
  }
};

}  // namespace

Command session_ls_command() {
  return {.name = "session ls",
          .group = "Sessions",
          .summary = "list the sessions of a sandbox",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &create_invocation<SessionLs>};
}

}  // namespace skiff::container
