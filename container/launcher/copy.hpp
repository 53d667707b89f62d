#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/launcher/agent_client.hpp"
#include "container/launcher/local_tar.hpp"

namespace skiff::container {

/// Called from the reactor with all bytes that went over the wire so far, and how many there will be where that is
/// known: of what is sent, and of a single file that is fetched. It may be empty: then nothing is counted beforehand.
using CopyProgress = std::function<void(std::uint64_t bytes, std::optional<std::uint64_t> total)>;

/// Copies a file or folder of this machine into a sandbox, as cp(1) -r: into `to` if that is a folder (or ends in a
/// slash), else under that name. `from` that ends in `/.` means a folder's contents. Modes are kept.
[[nodiscard]] Task<Result<TarSummary>> copy_in(AgentClient* agent, std::filesystem::path from, std::string to,
                                               CopyProgress progress);

/// The other way, by the same rules.
[[nodiscard]] Task<Result<TarSummary>> copy_out(AgentClient* agent, std::string from, std::filesystem::path to,
                                                CopyProgress progress);

}  // namespace skiff::container
