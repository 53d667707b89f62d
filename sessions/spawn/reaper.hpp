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

/// How a child ended, as wait4(2) tells it.
struct Reaped {
  pid_t pid = 0;
  int status = 0;  ///< as for WIFEXITED() and friends
  rusage usage{};
};

/// The one place that waits for children: tracked ones are handed to their owner, any other child is an orphan that the
/// kernel gave to the agent (PID 1 or PR_SET_CHILD_SUBREAPER) and is reaped. It acts on SIGCHLD, in the reactor thread:
/// there a pid whose end was not yet told can't have been reused.
///
/// A child may end before its spawner has said its pid. So a spawn is announced first: the kernel writes the pid into
/// the announcement before the child runs. A zombie whose pid stands in one is left alone until that spawn is
/// concluded, which is one turn of the reactor away; any other zombie that nobody tracks is an orphan for certain.
class Reaper {
 public:
  using Handler = std::move_only_function<void(const Reaped&)>;

  /// Blocks SIGCHLD in the calling thread (start it before other threads) and makes the agent a subreaper. Handlers
  /// that were not called when it is destroyed never are.
  explicit Reaper(Executor executor);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Goes into `SpawnRequest::announced`, and then to `conclude_spawn`.
  [[nodiscard]] AnnouncedSpawn begin_spawn();
  /// The announced spawn gave `pid`; `ended` is called once, from the reactor, later than this call. Until `ended` is
  /// called, `pid` means this child and no other. `leader` tells that to other threads; may be null.
  void conclude_spawn(const AnnouncedSpawn& spawn, pid_t pid, Handler ended, std::shared_ptr<Leader> leader = nullptr);
  /// Replaces the handler of a child whose end was not told yet.
  void hand_over(pid_t pid, Handler ended, std::shared_ptr<Leader> leader = nullptr);
  /// The announced spawn failed; a child that got as far as existing is reaped as an orphan.
  void conclude_spawn(const AnnouncedSpawn& spawn);

  /// Children that were not announced, and announced ones that failed.
  [[nodiscard]] std::uint64_t orphans_reaped() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skiff::sessions
