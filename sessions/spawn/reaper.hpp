#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/async/task.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/spawn/spawn.hpp"

namespace skiff::sessions {

/// How a child ended, from wait4(2).
struct Reaped {
  pid_t pid = 0;
  int status = 0;  ///< for WIFEXITED() and the like
  rusage usage{};
};

/// Reaps all children of the agent on SIGCHLD. It calls the owner of a tracked child. Any other child is an orphan that
/// the kernel gave to the agent (PID 1 or PR_SET_CHILD_SUBREAPER). It runs in the reactor thread: there a pid whose end
/// was not reported cannot have been reused.
///
/// A child may end before its spawner has reported its pid. So a spawn is announced first, and the kernel writes the
/// pid into the announcement before the child runs. A zombie whose pid is in an announcement is left alone until that
/// spawn is concluded, one turn of the reactor later. Any other untracked zombie is certainly an orphan.
class Reaper {
 public:
  using Handler = std::move_only_function<void(const Reaped&)>;

  /// Blocks SIGCHLD in the calling thread (create it before other threads) and makes the agent a subreaper. The
  /// destructor drops handlers that were not called.
  explicit Reaper(Executor executor);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Announces a spawn. Put the result into `SpawnRequest::announced`, and pass it to `conclude_spawn` afterwards.
  [[nodiscard]] AnnouncedSpawn begin_spawn();
  /// Reports that the spawn created `pid`. `ended` is called once, later, on the reactor. Until then `pid` belongs to
  /// this child. `leader`, if not null, publishes the pid and its state to other threads.
  void conclude_spawn(const AnnouncedSpawn& spawn, pid_t pid, Handler ended, std::shared_ptr<Leader> leader = nullptr);
  /// Replaces the handler of a child that was not reaped yet.
  void hand_over(pid_t pid, Handler ended, std::shared_ptr<Leader> leader = nullptr);
  /// Reports that the spawn failed. If a child was created, it is reaped as an orphan.
  void conclude_spawn(const AnnouncedSpawn& spawn);

  /// Number of reaped children that were not tracked: orphans, and children whose spawn failed.
  [[nodiscard]] std::uint64_t orphans_reaped() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skiff::sessions
