#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/event.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/reaper.hpp"
#include "sessions/process/spawn.hpp"

namespace skiff::sessions {

/// Shells that were started ahead of their command (docs/adr/0013). Each is executed and dynamically linked and stopped
/// before its first instruction, so arguments, environment and directory can still be set. A command that takes one
/// gets the fresh process that it would have had without, in a tenth of the time. They are kept while commands come
/// with pauses between them, and go when none has come for a while; no session owns them. Reactor thread only, which
/// looks up the shells and the directories of requests: they must lie on local file systems (`LocalPlaces`).
class WarmShells {
 public:
  struct Times {
    std::chrono::milliseconds quiet{3};      ///< no new one starts until no command was started for so long
    std::chrono::milliseconds idle{60'000};  ///< all go when none was asked for so long
  };
  /// `each`: how many wait for commands of one kind (the same shell, the same isolation); 0: none ever.
  WarmShells(Executor executor, Spawner& spawner, Reaper& reaper, std::size_t each)
      : WarmShells{executor, spawner, reaper, each, Times{}} {}
  WarmShells(Executor executor, Spawner& spawner, Reaper& reaper, std::size_t each, Times times);
  ~WarmShells();
  WarmShells(const WarmShells&) = delete;
  WarmShells& operator=(const WarmShells&) = delete;

  /// Gives `request` to a waiting shell, which then runs it: its pid, and `ended` is what the reaper calls, with a
  /// failure if the shell could not become the command after all. Nothing when none waits, or when the request is of
  /// those that must be started cold; it is as it was then. `leader` goes to the reaper, too; may be null.
  [[nodiscard]] std::optional<pid_t> start(const SpawnRequest& request, Reaper::Handler& ended,
                                           std::shared_ptr<Leader> leader = nullptr);

  /// Ends those that put `rules` on, and with that the use of them. Null: nothing.
  void forget(const std::shared_ptr<const Ruleset>& rules);
  /// Ends those that wait. Others are started when commands come.
  void let_all_go();
  /// The same, and none is started any more.
  [[nodiscard]] Task<> close();

  [[nodiscard]] std::size_t waiting() const noexcept;

 private:
  struct Kind;
  struct Shell;
  /// One that was told its command, and may still say that it can't become it.
  struct HandedOver {
    pid_t pid = 0;
    UniqueFd socket;
  };
  [[nodiscard]] Kind* kind_of(const SpawnRequest& request);
  void refill();
  [[nodiscard]] Task<> add(std::shared_ptr<Kind> kind);
  void let_go(Kind& kind);
  /// What the shell of that pid, which has ended, said of its command.
  [[nodiscard]] std::optional<SpawnFailure> take_failure(pid_t pid);

  Executor executor_;
  Spawner& spawner_;
  Reaper& reaper_;
  std::size_t each_;
  Times times_;
  UniqueFd library_;  ///< made for the first one
  std::vector<std::shared_ptr<Kind>> kinds_;
  std::vector<HandedOver> handed_over_;  ///< since the last start was asked for
  std::size_t children_ = 0;             ///< that wait, or have not been reaped yet
  bool closed_ = false;
  Event changed_;
  Deadline quiet_;
  Deadline idle_;
  TaskGroup tasks_;
};

}  // namespace skiff::sessions
