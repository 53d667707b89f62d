#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skiff::runtime {

/// Warnings for the log about paths that the agent and its commands need and that the root directory lacks: /dev/null,
/// /dev/ptmx, /proc/self/fd. `root` is a prefix for each path, for tests.
[[nodiscard]] std::vector<std::string> lacks(const std::filesystem::path& root = "/");

}  // namespace skiff::runtime
