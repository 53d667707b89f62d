#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/parse/candidates.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

/// The first character of a line of `__complete` that is not a candidate.
constexpr char kMarks = ':';

class Completion final : public Invocation {
 public:
  Task<Result<int>> run(Context& /*context*/, SettingsTable::Arguments arguments) override {
    const std::string& shell = arguments.words.at(0);
    if (shell != "bash" && shell != "zsh" && shell != "fish") {
      co_return fail(Errc::invalid_field, "there is no completion for \"" + shell + "\": expected bash, zsh or fish");
    }
    SKIFF_CO_TRY_VOID(print(completion_script(shell)));
    co_return 0;
  }
};

/// The scripts call this command at each Tab. It prints only candidates.
class Complete final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string typed = arguments.rest.empty() ? "" : arguments.rest.back();
    Candidates candidates = find_candidates(arguments.rest);
    std::vector<std::string> known;
    switch (candidates.asks_for) {
      case WordKind::sandbox:
        known = co_await sandboxes(&context, "");
        break;
      case WordKind::any_path: {
        const std::size_t colon = typed.find(':');
        if (colon == std::string::npos) {
          known = co_await sandboxes(&context, ":");
        } else {
          known = co_await paths(&context, typed.substr(0, colon), typed.substr(colon + 1), typed.substr(0, colon + 1));
        }
        break;
      }
      case WordKind::remote_path:
        known = co_await paths(&context, candidates.sandbox, typed, "");
        break;
      case WordKind::command_id:
        known = co_await command_ids(&context, candidates.sandbox);
        break;
      case WordKind::text:
      case WordKind::shell:
      case WordKind::command:
      case WordKind::mcp_client:
        break;
    }
    std::string text;
    for (const std::string& one : known) {
      // Each line is a candidate, so skip texts that could be read as two lines or as something else.
      if (one.starts_with(typed) && is_printable(one) && !one.starts_with(kMarks)) text += one + "\n";
    }
    for (const auto& one : candidates.items) text += one.text + (one.help.empty() ? "" : "\t" + one.help) + "\n";
    if (candidates.files) text += ":files\n";
    SKIFF_CO_TRY_VOID(print(text));
    co_return 0;
  }

 private:
  static Task<std::vector<std::string>> sandboxes(Context* context, std::string suffix) {
    std::vector<std::string> names;
    auto driver = co_await context->driver();
    if (!driver) co_return names;
    auto page = co_await (*driver)->list({});
    if (!page) co_return names;
    for (const Sandbox& sandbox : page->items) {
      if (check_name(sandbox.name)) names.push_back(sandbox.name + suffix);
    }
    co_return names;
  }

  static Task<std::vector<std::string>> items(Context* context, std::string sandbox, std::string url, std::string key) {
    std::vector<std::string> found;
    auto agent = co_await context->agent(std::move(sandbox));
    if (!agent) co_return found;
    auto page = co_await (*agent)->get(std::move(url));
    if (!page) co_return found;
    AgentAnswer listed{*page, "its answer"};
    for (const auto& item : listed.list("items")) {
      std::string name = text_at(item, key.c_str());
      if (!name.empty()) found.push_back(std::move(name) + (text_at(item, "type") == "directory" ? "/" : ""));
    }
    co_return found;
  }

  static Task<std::vector<std::string>> command_ids(Context* context, std::string sandbox) {
    auto ids = co_await items(context, std::move(sandbox), "/v1/commands?limit=500", "id");
    std::erase_if(ids, [](const std::string& id) { return !is_valid_id(id); });
    co_return ids;
  }

  /// The entries of the directory that was typed so far, with the text before the path.
  static Task<std::vector<std::string>> paths(Context* context, std::string sandbox, std::string typed,
                                              std::string before) {
    const std::size_t slash = typed.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
    std::string url = "/v1/files:list?limit=1000";
    if (!directory.empty()) url += "&path=" + protocol::percent_encode(directory);
    auto found = co_await items(context, std::move(sandbox), std::move(url), "name");
    for (std::string& one : found) {
      // The shell must not take the entry for a flag.
      const bool is_like_a_flag = before.empty() && directory.empty() && one.starts_with('-');
      one.insert(0, std::string{before}.append(is_like_a_flag ? "./" : "").append(directory));
    }
    co_return found;
  }
};

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .group = "Help",
          .summary = "print the completion script of skiff for a shell",
          .text =
              "  source <(skiff completion bash)\n"
              "  source <(skiff completion zsh)\n"
              "  skiff completion fish | source",
          .words = {{.name = "bash|zsh|fish", .kind = WordKind::shell}},
          .make = &create_invocation<Completion>};
}

Command complete_command() {
  return {.name = "__complete",
          .group = "",
          .summary = "candidates for the words after --, one per line",
          .rest = Rest::optional,
          .make = &create_invocation<Complete>};
}

}  // namespace skiff::container
