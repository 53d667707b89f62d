#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/api/answers/answer.hpp"
#include "sessions/command.hpp"

/// The members that routes and streams write about a command and its end.
namespace skiff::runtime::api {

/// A command, and whether it waits for input.
struct CommandOf {
  const sessions::Command& command;
  bool waits_for_input = false;
};

/// The limits of a command, each with its value and the mechanism that enforces it.
struct Enforced {
  const sessions::ResourceLimits& limits;
};
template <>
struct AnswerValue<Enforced> {
  static std::string schema();
  static void append(std::string& out, const Enforced& of);
};
/// Empty without limits.
[[nodiscard]] std::optional<Enforced> enforced(const sessions::ResourceLimits& limits);

/// Counts of bytes by stream.
struct PerStream {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
};

[[nodiscard]] const Answer<PerStream>& per_stream_answer();
/// The members of an `exit` event, which ended commands and results have, too: exit_code, signal, cause, ...
[[nodiscard]] const Answer<sessions::ExitStatus>& exit_answer();
/// The members of a command in lists and in `show`, without those of its end.
[[nodiscard]] const Answer<CommandOf>& command_answer();

/// Appends the members of `exit_answer`, without braces.
void append_exit_members(std::string& out, const sessions::ExitStatus& status);
/// Appends a command, with the members of its end if it has ended, and with a hint if it waits for input.
void append_command(std::string& out, const sessions::Command& command, bool waits_for_input = false);
/// `members` followed by those of the command's end; `always` if the command has ended.
[[nodiscard]] std::vector<Member> with_exit(std::vector<Member> members, bool always);

/// The schema of a command's state.
[[nodiscard]] std::string command_states();

}  // namespace skiff::runtime::api
