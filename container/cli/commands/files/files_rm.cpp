#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class FilesRm final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {
        {.flag = "recursive",
         .target = setting::Switch{&recursive_},
         .help = "Remove directories with their contents.",
         .letter = 'r'},
        {.flag = "force", .target = setting::Switch{&force_}, .help = "Ignore files that do not exist.", .letter = 'f'},
        session_.row()};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
      std::string url = session_.files() + "/" + protocol::percent_encode(arguments.words[i]);
      if (recursive_) url += "?recursive=true";
      auto removed = co_await agent->remove(std::move(url));
      const bool is_fine = removed || (force_ && removed.error().code == Errc::path_not_found);
      if (!is_fine) co_return std::unexpected{std::move(removed.error())};
    }
    co_return 0;
  }

 private:
  bool recursive_ = false;
  bool force_ = false;
  SessionFlag session_;
};

}  // namespace

Command files_rm_command() {
  return {.name = "files rm",
          .group = "Files",
          .summary = "remove files of a sandbox",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "PATH", .kind = WordKind::remote_path, .repeated = true}},
          .make = &create_invocation<FilesRm>};
}

}  // namespace skiff::container
