#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/unique_fd.hpp"
#include "sessions/process/tag.hpp"

namespace skiff::sessions {

/// Where the child stopped.
enum class LaunchStage : unsigned char {
  descriptors,
  clone,
  cgroup,
  isolation,
  signals,
  session,
  terminal,
  limits,
  user,
  chdir,
  exec,
};

/// A descriptor beside 0, 1 and 2 that a child is given.
struct ExtraDescriptor {
  int source = -1;
  int target = -1;  ///< 3 to 9, above that of the one before
};
inline constexpr std::size_t kMostExtraDescriptors = 3;

/// Everything that a child needs to become a program, as plain pointers and numbers: it shares the agent's memory and
/// may not allocate, lock or call anything but the kernel.
struct LaunchPlan {
  std::array<int, 3> descriptors{-1, -1, -1};  ///< for 0, 1, 2; -1: /dev/null
  ExtraDescriptor extra[kMostExtraDescriptors];
  std::size_t extra_count = 0;
  bool controlling_terminal = false;
  int cgroup = -1;   ///< an open cgroup.procs of the cgroup to enter; -1: stay
  int ruleset = -1;  ///< a Landlock ruleset to put on, and `kCallFilter` with it; -1: neither
  Tag tag = 0;
  const std::pair<int, rlimit>* limits = nullptr;
  std::size_t limit_count = 0;
  int priority = 0;  ///< as for setpriority(2)
  bool switch_user = false;
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  std::size_t group_count = 0;
  const char* cwd = nullptr;                ///< null: stay
  const char* const* candidates = nullptr;  ///< paths to try as execvp(3) does, ended by null
  char* const* argv = nullptr;
  const char* const* envp = nullptr;
  char** shell_argv = nullptr;  ///< {"/bin/sh", to be filled in, argv[1], ...} for a file without a format (ENOEXEC)
};

struct Launched {
  pid_t pid = 0;  ///< 0: no child was made; a child that failed still has to be waited for
  int error = 0;  ///< errno; 0: the program runs
  LaunchStage stage = LaunchStage::exec;
};

/// The signals that this process ignores or handles: bit N-1 is signal N. 64 system calls.
[[nodiscard]] std::uint64_t signals_not_default();

/// What one spawning thread keeps: the child's stack, and a few descriptor numbers that are reserved. They are low, so
/// the child takes over a small table of descriptors instead of a copy of the agent's whole one.
class LaunchPad {
 public:
  /// `not_default`: the agent changes none of its signals later.
  explicit LaunchPad(std::uint64_t not_default = signals_not_default());
  ~LaunchPad();
  LaunchPad(const LaunchPad&) = delete;
  LaunchPad& operator=(const LaunchPad&) = delete;

  /// Returns when the child runs its program or has failed. `pid_seen`, if given, has the child's pid before it runs.
  [[nodiscard]] Launched launch(const LaunchPlan& plan, std::atomic<pid_t>* pid_seen);

 private:
  void* stack_ = nullptr;  ///< null: no memory for it
  std::uint64_t not_default_;
  UniqueFd null_;
  std::array<UniqueFd, 3 + kMostExtraDescriptors> slots_;
  unsigned beyond_ = 0;  ///< the number above the highest slot; 0: no slots
};

}  // namespace skiff::sessions
