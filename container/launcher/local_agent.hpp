#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/launcher/local_record.hpp"

/// What a local sandbox's skiffd is started with.
namespace skiff::container {

/// The path of skiffd: beside this program, else on PATH. A `sandbox_failed` error (no_agent) that says where it was
/// looked for.
[[nodiscard]] Result<std::string> find_skiffd();

[[nodiscard]] std::vector<std::string> agent_arguments(std::string skiffd, const LocalRecord& record,
                                                       const std::filesystem::path& root);

/// The environment that its commands inherit: of ours what makes a usable shell and no more (a sandbox on a cluster has
/// none of it either), the sandbox's own, and SANDBOX_ID, by which what is left of it can be found. `public_key` goes
/// to the agent alone: it keeps SKIFF_* from commands.
[[nodiscard]] std::vector<std::string> agent_environment(const char* const* ours, const LocalRecord& record,
                                                         const std::string& public_key);

/// NAME=VALUE of the variable that marks the sandbox's processes.
[[nodiscard]] std::string sandbox_mark(std::string_view id);

}  // namespace skiff::container
