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

/// The cgroup of one command: a leaf that bounds what all of its processes use together. A process can leave it only
/// through the files delegated to the agent's user (cgroups(7)), which a command of that user may write to, too. The
/// destructor removes the directory; it stays if a process is still ending. All calls use files of the kernel, which
/// may block: do not call them on the reactor.
class CommandGroup {
 public:
  CommandGroup(std::filesystem::path directory, UniqueFd processes)
      : directory_{std::move(directory)}, processes_{std::move(processes)} {}
  ~CommandGroup();
  CommandGroup(const CommandGroup&) = delete;
  CommandGroup& operator=(const CommandGroup&) = delete;

  /// Descriptor of cgroup.procs; a process that writes "0" to it enters the cgroup.
  [[nodiscard]] int processes() const noexcept { return processes_.get(); }
  /// Sends SIGKILL to all processes in the cgroup at once (cgroup.kill, Linux 5.14); false if the kernel cannot.
  [[nodiscard]] bool kill() const;
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes() const;
  /// True when the OOM killer has killed a process of the cgroup.
  [[nodiscard]] bool out_of_memory() const;

 private:
  std::filesystem::path directory_;
  UniqueFd processes_;
};

/// A directory of cgroup version 2 that the agent may write to, where commands with limits get their leaves.
class CgroupHome {
 public:
  /// `wanted` is a directory that was delegated to the agent, "auto" or "none". "auto" uses the agent's own cgroup if
  /// it is writable and contains only the agent, which then moves into a leaf. "none" offers no limits. `root` is a
  /// prefix for /proc and /sys/fs/cgroup, for tests.
  explicit CgroupHome(std::string_view wanted, const std::filesystem::path& root = "/");

  /// The names of the limits that can be enforced: any of memory_bytes, pids, cpu_millis.
  [[nodiscard]] const std::vector<std::string_view>& offered() const noexcept { return offered_; }
  /// Errors: limit_unavailable, which names the first of `limits` that is not offered.
  [[nodiscard]] Result<> check(const ResourceLimits& limits) const;
  /// Whether a command with these limits needs a cgroup.
  [[nodiscard]] static bool is_for(const ResourceLimits& limits);
  /// Creates the leaf of a command, named by its tag; null when `limits` need no cgroup. Any thread but the reactor's.
  [[nodiscard]] std::expected<std::unique_ptr<CommandGroup>, SpawnFailure> make(Tag tag,
                                                                                const ResourceLimits& limits) const;

 private:
  void offer(const std::filesystem::path& directory);

  std::filesystem::path directory_;
  std::vector<std::string_view> offered_;
  std::string refused_;  ///< the last error in setting up the directory; empty: none
};

}  // namespace skiff::sessions
