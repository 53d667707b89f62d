#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace skiff::sessions {

/// Where this process' cgroup has its files for a controller (cgroups(7)).
struct CgroupDirectory {
  bool version2 = false;
  std::filesystem::path group;  ///< the directory of this process' cgroup
  std::filesystem::path mount;  ///< where the hierarchy is mounted

  /// Calls `visit` with the group's directory, then with each one above it up to the mount: limits of any of them hold.
  void each_level(const std::function<void(const std::filesystem::path&)>& visit) const;
};

/// What to look for: a controller of version 1 with one of its files, and the file that shows it on version 2.
struct CgroupQuery {
  std::string_view controller;
  std::string_view version1_file;
  std::string_view version2_file;
};

/// The first version (1, then 2) that has the controller for this process; nothing where none is mounted. `root` is put
/// before /proc and /sys/fs/cgroup: for tests.
[[nodiscard]] std::optional<CgroupDirectory> find_cgroup(const std::filesystem::path& root, const CgroupQuery& query);

/// Where cgroups of any version can be written to, as far as their mounts go; nothing when the mounts can't be read.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> writable_cgroup_mounts(
    const std::filesystem::path& root);

/// A number in a file; nothing for "max", for what version 1 means by it, and when the file can't be read.
[[nodiscard]] std::optional<std::uint64_t> read_cgroup_number(const std::filesystem::path& file);

/// The value behind `key` in a file of "key value" lines.
[[nodiscard]] std::optional<std::uint64_t> read_cgroup_entry(const std::filesystem::path& file, std::string_view key);

}  // namespace skiff::sessions
