#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/settings/settings.hpp"
#include "container/cli/parse/command.hpp"
#include "container/cli/parse/options.hpp"

namespace skiff::container {

/// A parsed command line.
struct Parsed {
  const Command* command = nullptr;  ///< null: the overview of all commands
  bool help = false;
  Options options;
  std::unique_ptr<Invocation> invocation;
  SettingsTable::Arguments arguments;
};

/// Parses `arguments`, without the program's name. Variables override the config file, and flags override both. Errors
/// say what was not understood, and what was probably meant; `field` is the command's name once that is known.
[[nodiscard]] Result<Parsed> parse(std::span<const char* const> arguments, const char* const* environment);

/// Number of arguments before the command's name: flags of every command, and their values. Fails if one of them cannot
/// be parsed.
[[nodiscard]] Result<std::size_t> flags_before_command(std::span<const char* const> arguments);

/// The command that the first one or two words name, or whose alias the first one is, and the number of these words;
/// null if there is none.
struct Named {
  const Command* command = nullptr;
  std::size_t words = 0;
};
[[nodiscard]] Named find_command(std::span<const char* const> arguments);

/// All commands, and the exit statuses.
[[nodiscard]] std::string overview();
[[nodiscard]] std::string command_help(const Command& command, std::size_t width);

/// All rows of one command's table; they point into `invocation` and `options`.
[[nodiscard]] SettingsTable table_of(Invocation& invocation, Options& options);

}  // namespace skiff::container
