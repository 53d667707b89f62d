#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/process/limits.hpp"
#include "sessions/process/tag.hpp"

namespace skiff::sessions {

/// The cgroup of one command: a leaf that bounds what all of its processes use together. They leave it only by the
/// files that were delegated to the agent's user (cgroups(7)), which a command of that user may write to, too. The
/// directory goes with this object, or when its last process is gone. All that it does is on files of the kernel, which
/// may take its time: not for the reactor.
class CommandGroup {
 public:
  CommandGroup(std::filesystem::path directory, UniqueFd processes)
      : directory_{std::move(directory)}, processes_{std::move(processes)} {}
  ~CommandGroup();
  CommandGroup(const CommandGroup&) = delete;
  CommandGroup& operator=(const CommandGroup&) = delete;

  /// Its cgroup.procs: a process that writes "0" there is in it.
  [[nodiscard]] int processes() const noexcept { return processes_.get(); }
  /// SIGKILL to everything in it at once (cgroup.kill, Linux 5.14); true when the kernel has done so.
  [[nodiscard]] bool kill() const;
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes() const;
  /// True when the kernel has killed one of its processes for lack of memory.
  [[nodiscard]] bool out_of_memory() const;

 private:
  std::filesystem::path directory_;
  UniqueFd processes_;
};

/// A directory of cgroup version 2 that the agent may write to, where commands with limits get their leaves.
class CgroupHome {
 public:
  /// `wanted` is a directory that was delegated to the agent; "auto": the agent's own cgroup, if it may be written to
  /// and holds nothing but the agent, which then moves into a leaf; "none": no home. `root` goes before /proc and
  /// /sys/fs/cgroup: for tests.
  explicit CgroupHome(std::string_view wanted, const std::filesystem::path& root = "/");

  /// The limits that can be enforced here, by their names in a request: any of memory_bytes, pids, cpu_millis.
  [[nodiscard]] const std::vector<std::string_view>& offered() const noexcept { return offered_; }
  /// Errors: limit_unavailable, naming the first of `limits` that is not offered.
  [[nodiscard]] Result<> check(const ResourceLimits& limits) const;
  /// Whether commands with these limits get a leaf.
  [[nodiscard]] static bool is_for(const ResourceLimits& limits);
  /// Null when `limits` need no cgroup. The leaf is named by the command's tag. Any thread but the reactor's.
  [[nodiscard]] std::expected<std::unique_ptr<CommandGroup>, SpawnFailure> make(Tag tag,
                                                                                const ResourceLimits& limits) const;

 private:
  void offer(const std::filesystem::path& directory);

  std::filesystem::path directory_;
  std::vector<std::string_view> offered_;
  std::string refused_;  ///< what the system said last of a directory that was named; empty: nothing
};

}  // namespace skiff::sessions
