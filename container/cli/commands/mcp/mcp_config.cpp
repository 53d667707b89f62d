#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/output.hpp"
#include "container/mcp/client_config.hpp"

namespace skiff::container {
namespace {

/// A value of a flag for a program that starts in another directory: FILE, or DIR with words after a colon.
std::string from_elsewhere(std::string_view text) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  std::string path = std::filesystem::absolute(text.substr(0, colon)).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.append(text.substr(colon));
}

bool is_path(const Setting& row) {
  return row.value.starts_with("FILE") || row.value.starts_with("DIR");
}

class McpConfig final : public Invocation {
 public:
  std::vector<Setting> rows() override { return spec_.rows(); }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto client, find_mcp_client(arguments.words.at(0)));
    // What `skiff mcp` would refuse is refused here, where somebody reads it.
    SKIFF_CO_TRY_VOID(spec_.spec("mcp", context.options().owner, arguments.given));
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) co_return std::unexpected{system_error(error.value(), "find the path of skiff")};
    std::vector<std::string> command{program.string(), "mcp"};
    std::ranges::move(passed_on(context.options(), arguments.given), std::back_inserter(command));
    SKIFF_CO_TRY(auto lines, server_lines(client, command));
    if (context.options().driver == "local") {
      SKIFF_CO_TRY(auto driver, co_await context.driver());
      context.tell_notice(*driver);
    }
    if (!context.options().quiet) {
      say("for " + std::string{client.title} + ", in " + std::string{client.file} + ":");
    }
    SKIFF_CO_TRY_VOID(print(lines));
    co_return 0;
  }

 private:
  /// The flags on the command line as arguments of `skiff mcp`. The client does not have this shell's variables, so the
  /// driver that one of them names is among the arguments.
  std::vector<std::string> passed_on(Options options, const std::vector<std::string>& given) {
    std::vector<Setting> rows = spec_.rows();
    std::ranges::move(option_rows(options), std::back_inserter(rows));
    std::vector<std::string> words;
    for (const Setting& row : rows) {
      const std::string flag{row.flag};
      const bool is_given = std::ranges::count(given, "--" + flag) > 0 || std::ranges::count(given, "--no-" + flag) > 0;
      const bool is_named_driver = flag == "driver" && options.driver != "auto";
      if (flag.empty() || flag == "output" || (!is_given && !is_named_driver)) continue;
      for (std::string& word : as_arguments(row)) {
        const bool is_value = is_path(row) && word != "--" + flag;
        words.push_back(is_value ? from_elsewhere(word) : std::move(word));
      }
    }
    return words;
  }

  SpecFlags spec_;
};

}  // namespace

Command mcp_config_command() {
  return {.name = "mcp config",
          .group = "Access",
          .summary = "print the lines with which a client starts skiff mcp",
          .text =
              "CLIENT is claude-desktop, claude-code, cursor, vscode, codex or zed. skiff prints the lines of its\n"
              "configuration, with the path of this skiff, and says on stderr to which file they belong. Flags are\n"
              "passed on, with absolute paths, and so is the driver that SKIFF_DRIVER names; other variables are not.\n"
              "\n"
              "  skiff mcp config cursor\n"
              "  skiff mcp config claude-code --mount .\n"
              "  skiff mcp config codex >> ~/.codex/config.toml",
          .words = {{.name = "CLIENT", .kind = WordKind::mcp_client}},
          .makes_sandboxes = true,
          .make = &create_invocation<McpConfig>};
}

}  // namespace skiff::container
