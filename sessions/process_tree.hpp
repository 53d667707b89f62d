#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "sessions/tag.hpp"

namespace skiff::sessions {

/// One process of a command, from /proc/PID/stat (proc(5)).
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';
  std::string name;          ///< comm
  std::string command_line;  ///< arguments joined by spaces, at most 4 KiB; empty for a zombie
  std::uint64_t rss_bytes = 0;
  std::uint64_t start_ticks = 0;
};

/// Every live process that carries `tag`, daemons included; zombies are left out. One pass over /proc.
[[nodiscard]] std::vector<ProcessInfo> processes_with(Tag tag);

/// Their pids alone: reads nothing that a process short of memory could delay.
[[nodiscard]] std::vector<pid_t> pids_with(Tag tag);

/// Those of `pids_with(tag)` that hold the pipe or terminal whose st_ino is one of `inodes`.
[[nodiscard]] std::vector<pid_t> holders_of(Tag tag, const std::vector<ino_t>& inodes);

/// Sends `signal` to every process that carries `tag`; returns how many got it. Safe against pid reuse where the kernel
/// has pidfds: the tag is read again behind the pidfd before the signal is sent.
std::size_t signal_tree(Tag tag, int signal);

/// The same for one process: false when `pid` is gone or doesn't carry `tag`.
bool signal_one(Tag tag, pid_t pid, int signal);

/// Ends everything that carries `tag`: SIGTERM, up to `grace` (0: none of that), then SIGKILL in passes until two
/// passes one after the other find nothing. SIGCONT goes with SIGTERM, so that stopped processes act on it. Returns
/// true when it was verified that nothing is left, false if processes outlived `patience`, counted from the first
/// SIGKILL: those in uninterruptible sleep, or of another user whom the agent may not signal.
[[nodiscard]] Task<bool> end_tree(Tag tag, std::chrono::milliseconds grace, std::chrono::milliseconds patience);

}  // namespace skiff::sessions
