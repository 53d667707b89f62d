#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/sandbox/tool.hpp"

namespace skiff::container {
namespace {

class Tool final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "folder",
             .environment = "SKIFF_TOOL_FOLDER",
             .target = setting::List{&call_.directories},
             .value = "DIR",
             .help = "Directories of tools, in the order of the search; relative to the sandbox's directory."},
            {.flag = "timeout",
             .target = setting::Duration{&call_.timeout, 1ms, std::chrono::days{365}},
             .value = "TIME",
             .help = "Kill the tool after this time."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    call_.sandbox = arguments.words.at(0);
    call_.tool = arguments.words.at(1);
    if (arguments.words.size() > 2) {
      call_.arguments = nlohmann::json::parse(arguments.words[2], nullptr, false);
      if (!call_.arguments.is_object()) {
        co_return fail(Errc::invalid_field, "the tool's arguments are not a JSON object, as '{\"path\": \"a.txt\"}'");
      }
    }
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(auto answer, co_await call_tool(driver, call_));
    const std::string text = format_json(answer);
    SKIFF_CO_TRY_VOID(context.show(answer, text, text));
    co_return answer["status"] == "ok" ? 0 : 1;
  }

 private:
  ToolCall call_;
};

}  // namespace

Command tool_command() {
  return {
      .name = "tool",
      .group = "Commands",
      .summary = "call a tool in a sandbox by name, with JSON arguments",
      .text =
          "A tool is an executable in one of the tool directories. It reads its arguments from stdin or from\n"
          "SKIFF_TOOL_ARGS, and writes JSON to stdout. The exit status is 0, or 1 if the tool failed.\n"
          "\n"
          "  skiff tool demo word-count '{\"path\": \"notes.txt\"}'",
      .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "TOOL"}, {.name = "ARGUMENTS", .optional = true}},
      .make = &create_invocation<Tool>};
}

}  // namespace skiff::container
