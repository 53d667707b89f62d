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

/// The states of a command, in their order:
///
///     starting ── the program runs ──> running ── the leader has ended and its output is read ──> ended ──> over
///     starting ── the start failed or was given up ──> over
///
/// From `ended` on the log has an exit. Between `ended` and `over` processes still hold the command's pipes; it is
/// `over` when every pipe is at its end or was given up.
enum class State : std::uint8_t { starting, running, ended, over };
/// The name that clients see; `over` reads "ended".
[[nodiscard]] std::string_view name(State state) noexcept;

/// The processes of a command that receive a signal.
enum class Target : std::uint8_t { leader, group, tree };

/// One command, from its start until it is forgotten: its process tree, its stdin and its output log. Its session and
/// its readers share its ownership. Reactor thread only.
class Command : public std::enable_shared_from_this<Command> {
 public:
  Command(Supervisor& supervisor, std::string session, CommandSpec spec);

  /// Starts the command; call it once. The session fills `request`, except the descriptors 0 to 2, the tag and the
  /// limits. `shell` is the command's part in the session's shell state, or null. When `started()` ends, the command is
  /// `running`, or over because it could not start (cause spawn_failed) or was ended before.
  void launch(SpawnRequest request, std::shared_ptr<ShellRun> shell);
  [[nodiscard]] Task<> started();

  [[nodiscard]] const std::string& id() const noexcept { return spec_.id; }
  [[nodiscard]] const std::string& session() const noexcept { return session_; }
  [[nodiscard]] const CommandSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] pid_t pid() const noexcept { return leader_->pid; }  ///< 0 before the command runs
  [[nodiscard]] Tree tree() const { return {tag_, leader_}; }
  [[nodiscard]] WallTime started_at() const noexcept { return started_at_; }
  [[nodiscard]] const std::shared_ptr<OutputLog>& log() const noexcept { return log_; }
  /// The offset of the log at which all that the command has written so far is read.
  [[nodiscard]] std::uint64_t written_offset() const;
  [[nodiscard]] const std::optional<ExitStatus>& exit_status() const noexcept { return log_->exit_status(); }
  [[nodiscard]] std::uint64_t stdin_offset() const noexcept { return feed_ ? feed_->offset() : 0; }
  [[nodiscard]] bool stdin_open() const noexcept { return feed_ && feed_->is_open(); }
  /// Whether a client has ended the input: what repeats that succeeds.
  [[nodiscard]] bool stdin_finished() const noexcept { return feed_ && feed_->is_finished(); }
  /// True once nothing of the command is left: the leader has ended, and every pipe is at its end or was given up.
  [[nodiscard]] bool over() const noexcept { return state_ == State::over; }

  /// Errors: stdin_closed, stdin_offset_mismatch. See StdinFeed.
  [[nodiscard]] Task<Result<std::uint64_t>> write_stdin(Slice bytes, std::optional<std::uint64_t> offset);
  [[nodiscard]] Task<Result<>> close_stdin();

  /// Sends `signal`. On a terminal SIGINT, SIGQUIT and SIGTSTP for the group are typed as control characters. Errors:
  /// command_ended, permission_denied, io_error.
  [[nodiscard]] Task<Result<>> signal(int signal, Target target);
  /// After `delay`, unless the command is over by then, ends its tree with `signal` and then SIGKILL; cause
  /// killed_by_client.
  void escalate(std::chrono::milliseconds delay, int signal);
  [[nodiscard]] Result<> resize(TerminalSize size);

  /// Ends the tree, daemons included, with SIGTERM and, after the grace, SIGKILL. The first cause is the one reported.
  /// Safe to repeat.
  void end(Cause cause);
  /// Ends the tree with SIGKILL at once, also while `end` waits for the grace.
  void kill(Cause cause);
  /// Ends when the command is `over()`. After `end` that takes at most the grace plus `kill_patience`, the time allowed
  /// to processes that cannot be ended (uninterruptible sleep, another user's).
  [[nodiscard]] Task<> gone();
  /// Waits for `gone()` after `end` or `kill`. Errors: permission_denied when not every process could be killed.
  [[nodiscard]] Task<Result<>> killed();

  /// Cuts the line or argv of an ended command to 16 KiB, because no memory limit counts them.
  void trim_request();

  /// True when a process of the command is blocked reading its terminal or stdin. A hint from /proc, not a guarantee.
  [[nodiscard]] Task<bool> waiting_for_input();

 private:
  [[nodiscard]] static Task<> live(std::shared_ptr<Command> self, SpawnRequest request);
  [[nodiscard]] static Task<> feed_input(std::shared_ptr<Command> self);
  [[nodiscard]] static Task<> pump(std::shared_ptr<Command> self, std::size_t index);
  /// Sends `signal`; false when it reached no process.
  [[nodiscard]] static Task<bool> reaches(std::shared_ptr<Command> self, int signal, Among among);
  [[nodiscard]] static Task<> send_then_kill(std::shared_ptr<Command> self, int signal);
  void begin_kill(std::chrono::milliseconds grace);
  void end_life();
  /// After the end: frees the command's slot among the live ones when the last of its processes that holds a pipe has
  /// ended.
  [[nodiscard]] static Task<> watch_background(std::shared_ptr<Command> self);
  [[nodiscard]] static Task<> kill_tree(std::shared_ptr<Command> self, std::chrono::milliseconds grace);
  [[nodiscard]] static Task<> keep_state(std::shared_ptr<Command> self);
  void leader_ended(const Reaped& reaped);
  /// Writes the exit to the output log and the agent's log.
  void write_exit(ExitStatus status);
  void spawn_failed(SpawnFailure failure);
  /// Runs repeatedly while the command starts; from the second time on it kills the process that is starting.
  void give_up_starting();
  void watch_time();
  /// Runs `work` on a thread of the pool; `work` may refer to the caller's frame.
  [[nodiscard]] static Task<> run_on(BlockingPool* pool, std::function<void()> work);
  /// Inodes of the pipes that are not at their end.
  [[nodiscard]] std::vector<ino_t> open_pipes();
  /// Processes of the command that keep its pipes open.
  [[nodiscard]] static Task<std::vector<pid_t>> background(std::shared_ptr<Command> self);
  /// Adds processes outside the command's tree that keep its pipes open.
  [[nodiscard]] static Task<> add_others(std::shared_ptr<Command> self, std::vector<pid_t>* holders);
  /// Reads the peak memory and finds out whether the OOM killer ended the leader; once, after the leader's end.
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
  std::unique_ptr<CommandGroup> group_;  ///< null: the command shares the agent's cgroup
  std::optional<Deadline> timeout_;
  std::optional<Deadline> idle_timeout_;
  std::optional<Deadline> escalation_;
  std::optional<Deadline> start_again_;  ///< runs `give_up_starting` again
  AnnouncedSpawn start_;                 ///< null: no process is being created
  std::optional<Deadline> exit_drain_;
  std::optional<Reaped> reaped_;
  std::shared_ptr<ShellRun> shell_;  ///< null once the shell's state was saved or discarded
  std::optional<StateSaved> state_saved_;
  std::optional<Cause> ending_;         ///< why the tree is being ended
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
  std::function<void()> stop_watching_;  ///< ends `watch_background`'s wait; empty when it does not wait
  bool killed_unasked_ = false;          ///< the leader got a SIGKILL that the agent had not sent
  bool looked_at_memory_ = false;        ///< `look_at_memory` has begun
  bool given_up_ = false;                ///< some process could not be ended
  bool counted_ = false;                 ///< counted among the supervisor's live commands
};

}  // namespace skiff::sessions
