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
/// Written in place of the pid: the start was given up and must not begin.
inline constexpr pid_t kGivenUp = -1;

/// A request to start one process.
struct SpawnRequest {
  std::vector<std::string> argv;  ///< argv[0] is looked up in the PATH of `env` when it has no slash
  EnvironmentBlock env;
  std::string cwd;  ///< absolute; empty: the agent's own
  UniqueFd in, out,
      err;  ///< descriptors 0, 1, 2 (empty: /dev/null); for a terminal all three are its slave side
  /// Texts that the child reads from files in memory, by descriptor.
  std::map<int, std::string> texts;
  std::vector<std::pair<UniqueFd, int>> extra;  ///< further descriptors; with `texts` at most 3, ascending in 3..9
  bool controlling_terminal = false;            ///< make descriptor 0 the controlling terminal (TIOCSCTTY)
  int cgroup = -1;                              ///< an open cgroup.procs of the cgroup to enter; -1: the agent's own
  std::shared_ptr<const Ruleset> ruleset;       ///< Landlock rules to enforce; null: none
  Tag tag = 0;
  std::optional<Credentials> user;             ///< switch to this user; needs CAP_SETUID and CAP_SETGID
  std::vector<std::pair<int, rlimit>> limits;  ///< RLIMIT_* other than RTTIME
  /// Added to the agent's own nice value, so that its threads run before its commands. With a larger value a running
  /// command would starve behind new ones, which start with the agent's priority.
  int nice = 3;
  AnnouncedSpawn announced;  ///< required where a Reaper runs
};

/// Starts processes on its own threads, by `clone(CLONE_VM|CLONE_VFORK|CLONE_FILES)` with a separate stack
/// (docs/adr/0004), so that the reactor does not wait for an exec on a slow disk. The child is in a new session and
/// process group, and has default signal dispositions, an empty signal mask and only the descriptors above. It gets
/// SIGKILL when the agent or the starting thread dies. Stages of a failure: script, descriptors, clone, cgroup,
/// isolation, signals, session, terminal, limits, user, chdir, exec.
class Spawner {
 public:
  /// `threads` in 1..64.
  explicit Spawner(std::size_t threads);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Returns the pid, or the stage that failed. Reactor thread only; cancellation does not interrupt it. `alone` says
  /// that no other command runs. Then a program that recently started quickly, and whose paths are all on local file
  /// systems, is started in this thread, because waking another thread costs more than the call.
  [[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> spawn(SpawnRequest request, bool alone = false);

  /// Starts a process from the calling thread, for benchmarks and tests. The child does not outlive that thread.
  /// Without `announced`, the caller waits for the child.
  [[nodiscard]] static std::expected<pid_t, SpawnFailure> spawn_here(const SpawnRequest& request);

  /// The threads, for other look-ups of a start.
  [[nodiscard]] BlockingPool& threads() noexcept { return pool_; }

  /// A new tag that no other command of this agent has and, because the first is random, none of another agent either.
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
