#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "container/host/record.hpp"
#include "container/sandbox/sandbox.hpp"

/// The limits of a box, and which of them this machine can hold.
namespace skiff::container::box {

/// Most processes and threads of a box.
inline constexpr std::uint64_t kMostProcesses = 4096;

/// Reads the limits that a specification names. `invalid_field` for one that no box can have. `kernel` is the version
/// as MAJOR * 1000 + MINOR.
[[nodiscard]] Result<HostLimits> parse_limits(const SandboxSpec& spec, int kernel);

/// The limits in a line, and what is not limited.
[[nodiscard]] std::string limits_text(const HostLimits& limits);

/// `no_space` if the file system of the directory has too little free space for one more box: nothing limits the disk
/// space of a box.
[[nodiscard]] Result<> check_free_space(const std::filesystem::path& directory);

}  // namespace skiff::container::box
