#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace skiff::sessions {

/// The directory of a controller's files for this process's cgroup (cgroups(7)).
struct CgroupDirectory {
  bool version2 = false;
  std::filesystem::path group;  ///< the directory of this process's cgroup
  std::filesystem::path mount;  ///< where the hierarchy is mounted

  /// Calls `visit` with the group's directory and then with each one above it up to the mount. The limits of all of
  /// them apply.
  void each_level(const std::function<void(const std::filesystem::path&)>& visit) const;
};

/// A query for a controller: its name and one of its files on version 1, and a file that proves it on version 2.
struct CgroupQuery {
  std::string_view controller;
  std::string_view version1_file;
  std::string_view version2_file;
};

/// Finds the first version (1, then 2) that has the controller for this process; empty when none is mounted. `root` is
/// a prefix for /proc and /sys/fs/cgroup, for tests.
[[nodiscard]] std::optional<CgroupDirectory> find_cgroup(const std::filesystem::path& root, const CgroupQuery& query);

/// The mount points of cgroups of any version that are mounted writable; empty optional when the mounts cannot be read.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> writable_cgroup_mounts(
    const std::filesystem::path& root);

/// The number in a file; empty for "max", for version 1's value for no limit, and when the file cannot be read.
[[nodiscard]] std::optional<std::uint64_t> read_cgroup_number(const std::filesystem::path& file);

/// The value of `key` in a file of "key value" lines.
[[nodiscard]] std::optional<std::uint64_t> read_cgroup_entry(const std::filesystem::path& file, std::string_view key);

}  // namespace skiff::sessions
