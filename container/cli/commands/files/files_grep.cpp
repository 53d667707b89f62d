#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/file_entries.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

/// The exit status of grep(1) for errors.
constexpr int kIncomplete = 2;

class FilesGrep final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "ignore-case", .target = setting::Switch{&ignore_case_}, .help = "Ignore case.", .letter = 'i'},
            {.flag = "fixed",
             .target = setting::Switch{&fixed_},
             .help = "Treat the pattern as plain text, not as a regular expression.",
             .letter = 'F'},
            session_.row()};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    std::string url = session_.files() + ":grep?pattern=" + protocol::percent_encode(arguments.words.at(1));
    if (ignore_case_) url += "&ignore_case=true";
    if (fixed_) url += "&literal=true";
    if (arguments.words.size() > 2) url += "&path=" + protocol::percent_encode(arguments.words[2]);
    SKIFF_CO_TRY(auto found, co_await find_records(agent.get(), std::move(url)));
    std::string lines;
    std::string paths;
    std::string last;
    for (const auto& record : found.records) {
      AgentAnswer match{record, "a match"};
      const std::string path = printable(match.bytes("path"));
      const std::string number = std::to_string(match.number("line_number").value_or(0));
      lines.append(path).append(1, ':').append(number).append(1, ':');
      lines.append(printable_lines(match.bytes("text"))).append(1, '\n');
      SKIFF_CO_TRY_VOID(match.check());
      if (path != last) paths += path + "\n";
      last = path;
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", found.records}}, lines, paths));
    if (tell_left_out(found, context.options().quiet)) co_return kIncomplete;
    co_return found.records.empty() ? 1 : 0;
  }

 private:
  bool ignore_case_ = false;
  bool fixed_ = false;
  SessionFlag session_;
};

}  // namespace

Command files_grep_command() {
  return {
      .name = "files grep",
      .group = "Files",
      .summary = "search the files of a sandbox for a pattern",
      .text =
          "Prints PATH:LINE:TEXT; the exit status is 1 if nothing matches, and 2 if a file could not be searched or\n"
          "there are more matches than the agent gives, which skiff says. The pattern is a regular expression\n"
          "(RE2). Names that begin with a dot, files that .gitignore excludes and files that are not text are left\n"
          "out.\n"
          "\n"
          "  skiff files grep -i demo 'todo|fixme' src",
      .words = {{.name = "NAME", .kind = WordKind::sandbox},
                {.name = "PATTERN"},
                {.name = "PATH", .kind = WordKind::remote_path, .optional = true}},
      .make = &create_invocation<FilesGrep>};
}

}  // namespace skiff::container
