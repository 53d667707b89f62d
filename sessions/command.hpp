#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/error.hpp"
#include "sessions/command_spec.hpp"
#include "sessions/input/stdin_feed.hpp"
#include "sessions/output/log.hpp"
#include "sessions/output/pump.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/shell/state.hpp"
#include "sessions/spawn/environment.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::sessions {

/// How far a command is. It only goes on:
///
///     starting ─┬─ its program runs ──> running ─── its leader has ended, and what ───> ended ─── every pipe is at
///     ───> over
///               │                                   it wrote is read (exit drain)             its end, or given up ^
///               └─ it could not be started, or was given up
///               ────────────────────────────────────────────────────────────┘
///
/// From `ended` on its log has an exit. Between `ended` and `over` processes of its own, or others, hold its pipes.
enum class State : std::uint8_t { starting, running, ended, over };
/// The word for clients: one that is over has ended.
[[nodiscard]] std::string_view name(State state) noexcept;

/// Which of a command's processes a signal is for.
enum class Target : std::uint8_t { leader, group, tree };

/// One command, from its start until it is forgotten: its process tree, its stdin, and the log of what it said. Owned
/// by its session and by whoever reads it. Reactor thread only.
class Command : public std::enable_shared_from_this<Command> {
 public:
  Command(Supervisor& supervisor, std::string session, CommandSpec spec);

  /// Starts it; once. Its session has filled `request`, but for the descriptors 0 to 2, the tag and the limits; `shell`
  /// is its part in the session's state, or null. It is `running`, or ended with cause spawn_failed, when `started()`
  /// ends.
  void launch(SpawnRequest request, std::shared_ptr<ShellRun> shell);
  [[nodiscard]] Task<> started();

  [[nodiscard]] const std::string& id() const noexcept { return spec_.id; }
  [[nodiscard]] const std::string& session() const noexcept { return session_; }
  [[nodiscard]] const CommandSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] pid_t pid() const noexcept { return leader_->pid; }  ///< 0 before it runs
  [[nodiscard]] Tree tree() const { return {tag_, leader_}; }
  [[nodiscard]] WallTime started_at() const noexcept { return started_at_; }
  [[nodiscard]] const std::shared_ptr<OutputLog>& log() const noexcept { return log_; }
  [[nodiscard]] const std::optional<ExitStatus>& exit_status() const noexcept { return log_->exit_status(); }
  [[nodiscard]] std::uint64_t stdin_offset() const noexcept { return feed_ ? feed_->offset() : 0; }
  [[nodiscard]] bool stdin_open() const noexcept { return feed_ && feed_->is_open(); }
  /// True once nothing of it is left: the leader has ended and every pipe is at its end, or was given up.
  [[nodiscard]] bool over() const noexcept { return state_ == State::over; }

  /// Errors: stdin_closed, stdin_offset_mismatch. See StdinFeed.
  [[nodiscard]] Task<Result<std::uint64_t>> write_stdin(Slice bytes, std::optional<std::uint64_t> offset);
  [[nodiscard]] Task<Result<>> close_stdin();

  /// Sends `signal`. On a terminal SIGINT, SIGQUIT and SIGTSTP for the group are typed, as a person would. Errors:
  /// command_ended, permission_denied, io_error.
  [[nodiscard]] Task<Result<>> signal(int signal, Target target);
  /// After `delay`, unless it has ended by then, ends the tree with `signal` and then SIGKILL; cause killed_by_client.
  void escalate(std::chrono::milliseconds delay, int signal);
  [[nodiscard]] Result<> resize(TerminalSize size);

  /// Ends its tree, daemons included, with SIGTERM, its grace, SIGKILL. The first cause given is the one that is told.
  /// Safe to repeat.
  void end(Cause cause);
  /// The same with SIGKILL at once, also when an `end` with its grace is under way.
  void kill(Cause cause);
  /// Ends when nothing of it is left (see `over()`). After `end` that takes no longer than the grace, and the patience
  /// with what can't be ended (uninterruptible sleep, another user's process).
  [[nodiscard]] Task<> gone();
  /// The same, of one that was told to end. Errors: permission_denied where not all of it could be.
  [[nodiscard]] Task<Result<>> killed();

  /// Of what was asked, an ended command keeps the first 16 KiB of its line or words: nothing counts them.
  void trim_request();

  /// True when the command is seen blocked in reading its terminal or stdin. A look at /proc; a hint, never a promise.
  [[nodiscard]] Task<bool> waiting_for_input();

 private:
  [[nodiscard]] static Task<> live(std::shared_ptr<Command> self, SpawnRequest request);
  [[nodiscard]] static Task<> feed_input(std::shared_ptr<Command> self);
  [[nodiscard]] static Task<> pump(std::shared_ptr<Command> self, std::size_t index);
  /// Sends it; false when nobody was there to get it.
  [[nodiscard]] static Task<bool> reaches(std::shared_ptr<Command> self, int signal, Among among);
  [[nodiscard]] static Task<> send_then_kill(std::shared_ptr<Command> self, int signal);
  void begin_kill(std::chrono::milliseconds grace);
  void end_life();
  /// Once it has ended: gives its place back when the last of its processes that holds a pipe has ended, too.
  [[nodiscard]] static Task<> watch_background(std::shared_ptr<Command> self);
  [[nodiscard]] static Task<> kill_tree(std::shared_ptr<Command> self, std::chrono::milliseconds grace);
  [[nodiscard]] static Task<> keep_state(std::shared_ptr<Command> self);
  void leader_ended(const Reaped& reaped);
  /// Its end, for its log and the agent's.
  void write_exit(ExitStatus status);
  void spawn_failed(SpawnFailure failure);
  /// Again and again while it starts; from the second time on in earnest.
  void give_up_starting();
  void watch_time();
  /// Runs `work` on a thread of the pool; it may refer to the caller's frame.
  [[nodiscard]] static Task<> run_on(BlockingPool* pool, std::function<void()> work);
  /// Of its pipes that are not at their end.
  [[nodiscard]] std::vector<ino_t> open_pipes();
  /// Those of its processes that keep its pipes open.
  [[nodiscard]] static Task<std::vector<pid_t>> background(std::shared_ptr<Command> self);
  /// Adds the processes that do so without being its own.
  [[nodiscard]] static Task<> add_others(std::shared_ptr<Command> self, std::vector<pid_t>* holders);
  /// Asks the kernel what it has used, and whether there was no memory for it; once, after its leader's end.
  [[nodiscard]] static Task<> look_at_memory(std::shared_ptr<Command> self);
  [[nodiscard]] ExitStatus describe_exit() const;
  [[nodiscard]] std::chrono::microseconds since_start() const;
  [[nodiscard]] bool pumps_at_end() const noexcept;
  /// True when what the pipes held at the leader's end has been read.
  [[nodiscard]] bool drained() const noexcept;

  Supervisor& supervisor_;
  std::string session_;
  CommandSpec spec_;
  std::shared_ptr<OutputLog> log_;
  Event changed_;
  std::vector<std::unique_ptr<OutputPump>> pumps_;
  std::unique_ptr<StdinFeed> feed_;
  UniqueFd terminal_;
  std::unique_ptr<CommandGroup> group_;  ///< null: it shares the agent's cgroup
  std::optional<Deadline> timeout_;
  std::optional<Deadline> idle_timeout_;
  std::optional<Deadline> escalation_;
  std::optional<Deadline> start_again_;  ///< looks whether the start has ended
  AnnouncedSpawn start_;                 ///< null: no process is being made
  std::optional<Deadline> exit_drain_;
  std::optional<Reaped> reaped_;
  std::shared_ptr<ShellRun> shell_;  ///< until its state was kept, or not
  std::optional<StateSaved> state_saved_;
  std::optional<Cause> ending_;         ///< why its tree is being ended
  std::optional<Cause> cause_at_exit_;  ///< `ending_` when the leader ended
  std::optional<std::uint64_t> peak_bytes_;
  std::string kill_level_;
  ino_t stdin_inode_ = 0;
  Tag tag_ = 0;
  const std::shared_ptr<Leader> leader_ = std::make_shared<Leader>();
  WallTime started_at_{};
  SteadyTime started_steady_{};
  std::chrono::microseconds wall_{};
  State state_ = State::starting;
  int kills_ = 0;                        ///< `kill_tree`s under way
  std::function<void()> stop_watching_;  ///< empty: nothing is waited for
  bool killed_unasked_ = false;          ///< its leader got a SIGKILL that nobody here had sent
  bool looked_at_memory_ = false;        ///< or begun to
  bool given_up_ = false;                ///< something of it could not be ended
  bool counted_ = false;                 ///< among the live commands of its supervisor
};

}  // namespace skiff::sessions
