#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

class FilesEdit final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "old", .target = setting::Text{&old_}, .value = "TEXT", .help = "Text to replace."},
            {.flag = "new", .target = setting::Text{&new_}, .value = "TEXT", .help = "Replacement."},
            {.flag = "count",
             .target = setting::Count{&count_, 0, 1'000'000},
             .value = "N",
             .help = "How often the old text must occur. 0: at least once."},
            session_.row()};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (old_.empty()) co_return fail(Errc::missing_field, "--old is missing: the text to replace", "--old");
    for (const std::string* text : {&old_, &new_}) {
      if (!protocol::is_valid_utf8(*text)) {
        co_return fail(Errc::invalid_field, "--old and --new must be UTF-8");
      }
    }
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    const nlohmann::json edit{{"old", old_}, {"new", new_}, {"count", count_}};
    std::string body = nlohmann::json{{"edits", nlohmann::json::array({edit})}}.dump();
    SKIFF_CO_TRY(auto done,
                 co_await agent->patch(session_.files() + "/" + protocol::percent_encode(arguments.words.at(1)),
                                       std::move(body)));
    SKIFF_CO_TRY_VOID(context.show(done, "", arguments.words.at(1) + "\n"));
    co_return 0;
  }

 private:
  std::string old_;
  std::string new_;
  std::uint64_t count_ = 1;
  SessionFlag session_;
};

}  // namespace

Command files_edit_command() {
  return {.name = "files edit",
          .group = "Files",
          .summary = "replace a text in a file of a sandbox",
          .text =
              "The file is not changed unless the old text occurs exactly --count times.\n"
              "\n"
              "  skiff files edit demo app.py --old 'port = 80' --new 'port = 8080'",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "PATH", .kind = WordKind::remote_path}},
          .make = &create_invocation<FilesEdit>};
}

}  // namespace skiff::container
