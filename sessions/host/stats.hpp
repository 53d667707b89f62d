#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace skiff::sessions {

/// What this container uses and may use, from its cgroup, version 1 or 2. What the kernel or the mounts don't show is
/// absent.
struct ContainerStats {
  std::optional<int> cgroup_version;  ///< 1 or 2
  struct Cpu {
    std::optional<std::uint64_t> used_us;
    std::optional<std::uint64_t> throttled_us;
    std::optional<std::uint64_t> limit_millis;  ///< thousandths of a core; absent: no limit
    unsigned cores = 0;                         ///< that this process may run on
  } cpu;
  struct Memory {
    std::optional<std::uint64_t> used_bytes;  ///< the working set, as kubelet reckons it
    std::optional<std::uint64_t> limit_bytes;
    std::optional<std::uint64_t> peak_bytes;
    std::optional<std::uint64_t> oom_kills;
  } memory;
  struct Pids {
    std::optional<std::uint64_t> used;
    std::optional<std::uint64_t> limit;
  } pids;
};

/// A handful of small reads below /proc and /sys. `root` goes before both: for tests.
[[nodiscard]] ContainerStats read_container_stats(const std::filesystem::path& root = "/");

/// What statvfs(3) says of the file system that `path` is on.
struct DiskStats {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< to an ordinary user
  std::uint64_t total_inodes = 0;
  std::uint64_t available_inodes = 0;
};
/// Nothing when it can't be had. May block on a network's file system.
[[nodiscard]] std::optional<DiskStats> read_disk_stats(const std::filesystem::path& path);

}  // namespace skiff::sessions
