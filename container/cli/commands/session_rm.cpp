#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class SessionRm final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
      SKIFF_CO_TRY_VOID(co_await agent->remove("/v1/sessions/" + protocol::percent_encode(arguments.words[i])));
    }
    co_return 0;
  }
};

}  // namespace

Command session_rm_command() {
  return {.name = "session rm",
          .group = "Sessions",
          .summary = "end the commands of a session and remove it; its files stay",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "SESSION", .repeated = true}},
          .make = &create_invocation<SessionRm>};
}

}  // namespace skiff::container
