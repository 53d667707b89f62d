#pragma once

#include <span>
#include <string_view>

/// Words that users of kubectl and docker type and that skiff does not have: skiff tells them its own command line for
/// it.
namespace skiff::container {

struct ForeignCommand {
  std::string_view word;  ///< the word that they type: "inspect"
  std::string_view line;  ///< skiff's command line for it
};

struct ForeignFlag {
  std::string_view
      commands;            ///< commands of skiff without that flag, separated by commas; empty: all commands without it
  std::string_view flags;  ///< forms of the flag, separated by commas: "--filter,-f"
  std::string_view line;   ///< skiff's way to do it, or why it is not necessary
};

[[nodiscard]] std::span<const ForeignCommand> foreign_commands();
[[nodiscard]] std::span<const ForeignFlag> foreign_flags();

/// The line for a word that is not a command of skiff; empty if kubectl and docker have no such command, either.
[[nodiscard]] std::string_view line_for_command(std::string_view word);
/// The line for a flag, with its dashes, that this command does not have (or no command, if `command` is empty); empty
/// if the flag is not in the table.
[[nodiscard]] std::string_view line_for_flag(std::string_view command, std::string_view flag);

}  // namespace skiff::container
