#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/api/answers/answer.hpp"
#include "sessions/command.hpp"

/// What the routes, and the streams, say of a command and of its end.
namespace skiff::runtime::api {

/// A command, and whether it was seen waiting for input.
struct CommandOf {
  const sessions::Command& command;
  bool waits_for_input = false;
};

/// Limits that a command has: each with its value and by what it is enforced.
struct Enforced {
  const sessions::ResourceLimits& limits;
};
template <>
struct AnswerValue<Enforced> {
  static std::string schema();
  static void append(std::string& out, const Enforced& of);
};
/// Nothing without limits.
[[nodiscard]] std::optional<Enforced> enforced(const sessions::ResourceLimits& limits);

/// Bytes of each stream.
struct PerStream {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
};

[[nodiscard]] const Answer<PerStream>& per_stream_answer();
/// The members of an `exit` event, which commands and results that have ended have, too: exit_code, signal, cause, ...
[[nodiscard]] const Answer<sessions::ExitStatus>& exit_answer();
/// Of a command, as lists and `show` give it: without its end.
[[nodiscard]] const Answer<CommandOf>& command_answer();

/// Those of `exit_answer`, without braces.
void append_exit_members(std::string& out, const sessions::ExitStatus& status);
/// A command with its end, if it has come; with a hint where it waits for input.
void append_command(std::string& out, const sessions::Command& command, bool waits_for_input = false);
/// `members`, and those that tell how a command ended; `always` where it has.
[[nodiscard]] std::vector<Member> with_exit(std::vector<Member> members, bool always);

/// The words of a command's state.
[[nodiscard]] std::string command_states();

}  // namespace skiff::runtime::api
