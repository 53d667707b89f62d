#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace skiff::sessions {

/// Resource limits of one command. A limit that the kernel or the container cannot enforce is refused, not ignored.
struct ResourceLimits {
  std::optional<std::uint64_t> memory_bytes = {};     ///< needs a writable cgroup v2
  std::optional<std::uint64_t> pids = {};             ///< needs a writable cgroup v2
  std::optional<std::uint64_t> cpu_millis = {};       ///< needs a writable cgroup v2
  std::optional<std::uint64_t> cpu_time_ms = {};      ///< RLIMIT_CPU of each process, rounded up to whole seconds
  std::optional<std::uint64_t> open_files = {};       ///< RLIMIT_NOFILE
  std::optional<std::uint64_t> file_size_bytes = {};  ///< RLIMIT_FSIZE
  [[nodiscard]] bool operator==(const ResourceLimits&) const = default;
};

/// The limits that setrlimit(2) enforces; `open_files` is the soft limit on open files if `limits` has none.
[[nodiscard]] std::vector<std::pair<int, rlimit>> kernel_limits(const ResourceLimits& limits, rlim_t open_files);

}  // namespace skiff::sessions
