#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/process/tag.hpp"
#include "sessions/spawn/environment.hpp"
#include "sessions/spawn/isolation.hpp"
#include "sessions/spawn/local_paths.hpp"
#include "sessions/spawn/quick_starts.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::sessions {

/// A spawn that was announced to the reaper (`Reaper::begin_spawn`). The kernel writes the child's pid here before the
/// child runs, so before it can end (CLONE_PARENT_SETTID); 0 until then.
using AnnouncedSpawn = std::shared_ptr<std::atomic<pid_t>>;
/// In place of the pid: it is not to begin any more.
inline constexpr pid_t kGivenUp = -1;

/// One process to start, with everything that must be so before its first instruction.
struct SpawnRequest {
  std::vector<std::string> argv;  ///< argv[0] is looked up in the PATH of `env` when it holds no slash
  EnvironmentBlock env;
  std::string cwd;  ///< absolute; empty: the agent's own
  UniqueFd in, out,
      err;  ///< become descriptors 0, 1, 2 (not given: /dev/null); for a terminal all three are its slave side
  /// The child reads each text from a file in memory that has this descriptor.
  std::map<int, std::string> texts;
  std::vector<std::pair<UniqueFd, int>> extra;  ///< become these descriptors. With `texts` at most 3, ascending in 3..9
  bool controlling_terminal = false;            ///< make descriptor 0 the controlling terminal (TIOCSCTTY)
  int cgroup = -1;                              ///< an open cgroup.procs of the cgroup to enter; -1: the agent's own
  std::shared_ptr<const Ruleset> ruleset;       ///< to be put on; null: none
  Tag tag = 0;
  std::optional<Credentials> user;             ///< switch to this user; needs CAP_SETUID and CAP_SETGID
  std::vector<std::pair<int, rlimit>> limits;  ///< RLIMIT_* other than RTTIME
  /// Added to the agent's own, so that its threads go before its commands. More lets a command that was begun starve
  /// behind those that follow, which start with the agent's priority.
  int nice = 3;
  AnnouncedSpawn announced;  ///< always given where a Reaper runs
};

/// Starts processes on its own threads, by `clone(CLONE_VM|CLONE_VFORK|CLONE_FILES)` with a stack of its own
/// (docs/adr/0004), so that the reactor never waits for an exec on a slow disk. The child is in a new session and
/// process group, has default signal dispositions, an empty mask and only the descriptors above, and gets SIGKILL when
/// the agent or the starting thread dies. Stages of a failure: script, descriptors, clone, cgroup, isolation, signals,
/// session, terminal, limits, user, chdir, exec.
class Spawner {
 public:
  /// `threads` in 1..64.
  explicit Spawner(std::size_t threads);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Reactor thread. The pid, or at which stage it failed. Cancellation does not interrupt it. `alone`: nothing else
  /// is running, so a program that was quick to start just now is started in this very thread: waking another one and
  /// being woken by it costs more than the call. Only where all that is looked up lies on local file systems.
  [[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> spawn(SpawnRequest request, bool alone = false);

  /// The same, in the calling thread, whose end the child doesn't survive: for benchmarks and tests. Without
  /// `announced`, the caller waits for the child.
  [[nodiscard]] static std::expected<pid_t, SpawnFailure> spawn_here(const SpawnRequest& request);

  /// For what else a start has to look up.
  [[nodiscard]] BlockingPool& threads() noexcept { return pool_; }

  /// A tag that no other command of this agent has, and (by its random start) none of another agent either.
  [[nodiscard]] Tag new_tag() { return tags_.next(); }

 private:
  struct Pads;

  TagSource tags_;
  QuickStarts quick_;
  LocalPaths local_;
  std::unique_ptr<Pads> pads_;
  BlockingPool pool_;
};

}  // namespace skiff::sessions
