#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/output.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kFileBlock = std::size_t{256} << 10U;

class FilesCat final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_.row()}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0), {.scope = "read"}));
    std::string buffer(kFileBlock, '\0');
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
      // Encode slashes as %2F, so that ../x arrives unchanged and the agent decides about it.
      SKIFF_CO_TRY_VOID(co_await agent->open(session_.files() + "/" + protocol::percent_encode(arguments.words[i])));
      for (;;) {
        SKIFF_CO_TRY(auto got, co_await agent->http().read_some(buffer));
        if (got == 0) break;
        SKIFF_CO_TRY_VOID(print({buffer.data(), got}));
      }
    }
    co_return 0;
  }

 private:
  SessionFlag session_;
};

}  // namespace

Command files_cat_command() {
  return {.name = "files cat",
          .group = "Files",
          .summary = "print files of a sandbox",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "PATH", .kind = WordKind::remote_path, .repeated = true}},
          .make = &create_invocation<FilesCat>};
}

}  // namespace skiff::container
