#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/unique_fd.hpp"
#include "sessions/process/tag.hpp"

namespace skiff::sessions {

/// The step at which the child failed.
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

/// A descriptor that a child gets in addition to 0, 1 and 2.
struct ExtraDescriptor {
  int source = -1;
  int target = -1;  ///< 3 to 9, in ascending order
};
inline constexpr std::size_t kMostExtraDescriptors = 3;

/// Everything that a child needs to execute its program, as plain pointers and numbers: the child shares the agent's
/// memory and may not allocate, lock or call anything but the kernel.
struct LaunchPlan {
  std::array<int, 3> descriptors{-1, -1, -1};  ///< for 0, 1, 2; -1: /dev/null
  ExtraDescriptor extra[kMostExtraDescriptors];
  std::size_t extra_count = 0;
  bool controlling_terminal = false;
  int cgroup = -1;   ///< an open cgroup.procs of the cgroup to enter; -1: none
  int ruleset = -1;  ///< a Landlock ruleset to enforce, with `kCallFilter`; -1: neither
  Tag tag = 0;
  const std::pair<int, rlimit>* limits = nullptr;
  std::size_t limit_count = 0;
  int priority = 0;  ///< as for setpriority(2)
  bool switch_user = false;
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  std::size_t group_count = 0;
  const char* cwd = nullptr;                ///< null: the agent's own
  const char* const* candidates = nullptr;  ///< paths to try in order, as execvp(3) does; null-terminated
  char* const* argv = nullptr;
  const char* const* envp = nullptr;
  char** shell_argv = nullptr;  ///< {"/bin/sh", set by the child, argv[1], ...} for a script without #! (ENOEXEC)
};

struct Launched {
  pid_t pid = 0;  ///< 0: no child was created; a child that failed must still be reaped
  int error = 0;  ///< errno; 0: the program runs
  LaunchStage stage = LaunchStage::exec;
};

/// The signals that this process ignores or handles: bit N-1 is signal N. Takes 64 system calls.
[[nodiscard]] std::uint64_t signals_not_default();

/// The stack of a child, 64 KiB, above a page that it cannot reach. `page` is the size of the kernel's pages: 4 to 64
/// KiB.
class ChildStack {
 public:
  explicit ChildStack(std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  ~ChildStack();
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;

  static constexpr std::size_t kBytes = std::size_t{64} * 1024;
  /// One above the highest byte; null: there was no memory.
  [[nodiscard]] char* top() const noexcept { return memory_ == nullptr ? nullptr : memory_ + page_ + kBytes; }

 private:
  std::size_t page_;
  char* memory_ = nullptr;
};

/// The resources of one spawning thread: a stack for the child, and a few reserved descriptor numbers. The numbers are
/// low, so the child copies a small part of the agent's descriptor table instead of all of it.
class LaunchPad {
 public:
  /// `not_default`: see `signals_not_default`. The agent must not change its signal dispositions later.
  explicit LaunchPad(std::uint64_t not_default = signals_not_default());
  ~LaunchPad() = default;
  LaunchPad(const LaunchPad&) = delete;
  LaunchPad& operator=(const LaunchPad&) = delete;

  /// Returns when the child runs its program or has failed. `pid_seen`, if not null, is set to the child's pid before
  /// the child runs.
  [[nodiscard]] Launched launch(const LaunchPlan& plan, std::atomic<pid_t>* pid_seen);

 private:
  ChildStack stack_;
  std::uint64_t not_default_;
  UniqueFd null_;
  std::array<UniqueFd, 3 + kMostExtraDescriptors> slots_;
  unsigned beyond_ = 0;  ///< one above the highest slot; 0: no slots
};

}  // namespace skiff::sessions
