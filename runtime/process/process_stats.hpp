#pragma once

#include <cstdint>

namespace skiff::runtime {

/// What this process itself uses. Small reads below /proc, for who asks now and then.
[[nodiscard]] double cpu_seconds() noexcept;
[[nodiscard]] std::uint64_t resident_bytes();
[[nodiscard]] std::uint64_t open_files();
[[nodiscard]] std::uint64_t most_open_files() noexcept;  ///< the soft limit
/// Seconds since 1970.
[[nodiscard]] double start_time_seconds();

}  // namespace skiff::runtime
