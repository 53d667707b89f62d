#pragma once

#include <cstdint>

namespace skiff::runtime {

/// Resource use of this process, from small reads below /proc.
[[nodiscard]] double cpu_seconds() noexcept;
[[nodiscard]] std::uint64_t resident_bytes();
[[nodiscard]] std::uint64_t open_files();
[[nodiscard]] std::uint64_t most_open_files() noexcept;  ///< soft RLIMIT_NOFILE
/// Start time of the process, in seconds since 1970.
[[nodiscard]] double start_time_seconds();

}  // namespace skiff::runtime
