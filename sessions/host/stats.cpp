#include "sessions/host/stats.hpp"

#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "sessions/host/memory_guard.hpp"
#include "sessions/process/cgroup_directory.hpp"

namespace skiff::sessions {
namespace {

void take_least(std::optional<std::uint64_t>& least, std::optional<std::uint64_t> other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

/// Parses "max 100000" or "150000 100000": microseconds of CPU time and of the period.
std::optional<std::uint64_t> quota_of_version2(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (!(in >> quota >> period) || period == 0) return std::nullopt;
  return quota * 1000 / period;
}

/// A quota of -1 means no quota.
std::optional<std::uint64_t> quota_of_version1(const std::filesystem::path& directory) {
  std::ifstream in{directory / "cpu.cfs_quota_us"};
  std::int64_t quota = -1;
  const auto period = read_cgroup_number(directory / "cpu.cfs_period_us");
  if (!(in >> quota) || quota < 0 || !period || *period == 0) return std::nullopt;
  return static_cast<std::uint64_t>(quota) * 1000 / *period;
}

std::optional<std::uint64_t> divided(std::optional<std::uint64_t> value, std::uint64_t by) {
  return value ? std::optional{*value / by} : std::nullopt;
}

void read_cpu(const std::filesystem::path& root, ContainerStats& stats) {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) stats.cpu.cores = static_cast<unsigned>(CPU_COUNT(&cores));
  if (const auto use = find_cgroup(root, {"cpuacct", "cpuacct.usage", "cpu.stat"})) {
    stats.cgroup_version = use->version2 ? 2 : 1;
    stats.cpu.used_us = use->version2 ? read_cgroup_entry(use->group / "cpu.stat", "usage_usec")
                                      : divided(read_cgroup_number(use->group / "cpuacct.usage"), 1000);
  }
  const auto bound = find_cgroup(root, {"cpu", "cpu.cfs_quota_us", "cpu.max"});
  if (!bound) return;
  stats.cpu.throttled_us = bound->version2
                               ? read_cgroup_entry(bound->group / "cpu.stat", "throttled_usec")
                               : divided(read_cgroup_entry(bound->group / "cpu.stat", "throttled_time"), 1000);
  bound->each_level([&](const std::filesystem::path& directory) {
    take_least(stats.cpu.limit_millis,
               bound->version2 ? quota_of_version2(directory / "cpu.max") : quota_of_version1(directory));
  });
}

void read_memory(const std::filesystem::path& root, ContainerStats& stats) {
  const auto directory = find_cgroup(root, {"memory", "memory.usage_in_bytes", "memory.current"});
  if (!directory) return;
  stats.cgroup_version = directory->version2 ? 2 : 1;
  if (const auto use = MemoryGauge{root}.read()) {
    stats.memory.used_bytes = use->used;
    if (use->limit > 0) stats.memory.limit_bytes = use->limit;
  }
  const auto& group = directory->group;
  stats.memory.peak_bytes =
      read_cgroup_number(group / (directory->version2 ? "memory.peak" : "memory.max_usage_in_bytes"));
  stats.memory.oom_kills =
      read_cgroup_entry(group / (directory->version2 ? "memory.events" : "memory.oom_control"), "oom_kill");
}

void read_pids(const std::filesystem::path& root, ContainerStats& stats) {
  const auto directory = find_cgroup(root, {"pids", "pids.current", "pids.current"});
  if (!directory) return;
  stats.pids.used = read_cgroup_number(directory->group / "pids.current");
  directory->each_level([&](const std::filesystem::path& level) {
    take_least(stats.pids.limit, read_cgroup_number(level / "pids.max"));
  });
}

}  // namespace

ContainerStats read_container_stats(const std::filesystem::path& root) {
  ContainerStats stats;
  read_cpu(root, stats);
  read_memory(root, stats);
  read_pids(root, stats);
  return stats;
}

std::optional<DiskStats> read_disk_stats(const std::filesystem::path& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return std::nullopt;
  return DiskStats{.total_bytes = std::uint64_t{info.f_blocks} * info.f_frsize,
                   .available_bytes = std::uint64_t{info.f_bavail} * info.f_frsize,
                   .total_inodes = info.f_files,
                   .available_inodes = info.f_favail};
}

}  // namespace skiff::sessions
