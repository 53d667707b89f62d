#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace skiff::sessions {

/// The use and the limits of this container, from its cgroup, version 1 or 2. A figure that the kernel or the mounts do
/// not show is absent.
struct ContainerStats {
  std::optional<int> cgroup_version;  ///< 1 or 2
  struct Cpu {
    std::optional<std::uint64_t> used_us;
    std::optional<std::uint64_t> throttled_us;
    std::optional<std::uint64_t> limit_millis;  ///< thousandths of a core; absent: no limit
    unsigned cores = 0;                         ///< cores that this process may run on
  } cpu;
  struct Memory {
    std::optional<std::uint64_t> used_bytes;  ///< the working set as kubelet computes it
    std::optional<std::uint64_t> limit_bytes;
    std::optional<std::uint64_t> peak_bytes;
    std::optional<std::uint64_t> oom_kills;
  } memory;
  struct Pids {
    std::optional<std::uint64_t> used;
    std::optional<std::uint64_t> limit;
  } pids;
};

/// Reads a few small files below /proc and /sys. `root` is a prefix for both, for tests.
[[nodiscard]] ContainerStats read_container_stats(const std::filesystem::path& root = "/");

/// The figures of statvfs(3) for a file system.
struct DiskStats {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< for an ordinary user
  std::uint64_t total_inodes = 0;
  std::uint64_t available_inodes = 0;
};
/// Figures of the file system of `path`; empty if statvfs(3) fails. May block on a network file system.
[[nodiscard]] std::optional<DiskStats> read_disk_stats(const std::filesystem::path& path);

}  // namespace skiff::sessions
