#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::runtime {

/// What `skiffd launch` reads: settings that the command line of a container cannot change once the container exists.
struct LaunchPlan {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=VALUE
};

/// Reads JSON: {"arguments": ["--listen", ...], "environment": {"NAME": "VALUE"}}.
[[nodiscard]] Result<LaunchPlan> parse_launch_plan(std::string_view text);

/// `skiffd launch FILE`: becomes skiffd with the arguments of the file, and with its variables added to the
/// environment, which loses all that begin with SKIFF_ first. It returns only on failure, with the exit status; the
/// reason is on stderr.
[[nodiscard]] int launch(std::span<const char* const> arguments);

}  // namespace skiff::runtime
