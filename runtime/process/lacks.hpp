#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skiff::runtime {

/// What a root directory lacks that the agent and its commands need, as sentences for an operator: /dev/null, /proc.
/// `root` goes before each path: for tests.
[[nodiscard]] std::vector<std::string> lacks(const std::filesystem::path& root = "/");

}  // namespace skiff::runtime
