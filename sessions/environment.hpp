#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/command_spec.hpp"

namespace skiff::sessions {

struct Credentials;

/// Variables by name, in order.
using Environment = std::map<std::string, std::string>;

/// The agent's own environment minus `SKIFF_*` and minus the names that match one of `deny` (`*` stands for any text).
[[nodiscard]] Environment inheritable_environment(const std::vector<std::string>& deny);

/// Sets and removes what `change` says.
void apply(Environment& environment, const EnvironmentChange& change);
void apply(Environment& environment, const SecretEnvironment& secrets);

/// Adds what every command finds set, where it is not set yet or empty: HOME USER LOGNAME SHELL PATH LANG, and TERM on
/// a terminal.
void complete(Environment& environment, const Credentials& user, bool switched_user, std::string_view shell,
              bool terminal);

/// "NAME=value" strings, as execve(2) takes them.
[[nodiscard]] std::vector<std::string> as_strings(const Environment& environment);

/// True for a name that can stand in an environment: not empty, no '=', no NUL.
[[nodiscard]] bool is_valid_variable(std::string_view name) noexcept;

}  // namespace skiff::sessions
