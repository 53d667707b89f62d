#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/error.hpp"
#include "fs/path/tree.hpp"
#include "sessions/command.hpp"
#include "sessions/id_ledger.hpp"
#include "sessions/shell/state.hpp"
#include "sessions/spawn/environment.hpp"
#include "sessions/spawn/isolation.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::sessions {

using Labels = std::map<std::string, std::string>;

/// What a client asks for when it creates a session.
enum class RootAccess : unsigned char { rw, ro };

/// A directory beside the root that the session's file operations reach.
struct ExtraRoot {
  std::string path;  ///< absolute
  RootAccess access = RootAccess::rw;

  [[nodiscard]] bool operator==(const ExtraRoot&) const = default;
};

struct SessionSpec {
  std::string id;                   ///< empty: the agent makes one
  std::optional<std::string> root;  ///< below the agent's root; made when it is missing
  std::vector<ExtraRoot> extra_roots;
  std::optional<std::string> cwd;  ///< relative to the root
  EnvironmentChange env;
  SecretEnvironment secret_env;
  std::vector<std::string> env_unset;
  bool env_inherit = true;
  std::optional<std::string> user;
  std::optional<std::string> shell;  ///< absolute path
  bool login_shell = false;
  bool stateful_shell = false;  ///< what one shell line changes in its shell is there for the next (docs/stateful.md)
  bool keep_functions = true;   ///< the functions too, where the shell can print them
  Labels labels;
  std::optional<std::chrono::milliseconds> idle_timeout;
  std::optional<std::chrono::milliseconds> default_timeout;
  ResourceLimits limits;  ///< of each command that names none of its own
  Isolation isolation = Isolation::none;

  [[nodiscard]] bool operator==(const SessionSpec&) const = default;
};

/// What a client may change later; absent: unchanged, holding nothing: removed.
struct SessionPatch {
  std::optional<std::map<std::string, std::optional<std::string>>> labels;
  std::optional<std::optional<std::chrono::milliseconds>> idle_timeout;
  std::optional<std::optional<std::chrono::milliseconds>> default_timeout;
  std::optional<ResourceLimits> limits;
  std::optional<EnvironmentChange> env;
  std::optional<std::string> cwd;
};

/// A named workspace: a root, an environment, a working directory, limits, and the commands that run in it. Reactor
/// thread only.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// What the agent gives to every session.
  struct Defaults {
    std::string root;     ///< absolute
    std::string shell;    ///< absolute path of the default shell
    Variables inherited;  ///< what commands get of the agent's environment
    bool may_switch_user = true;
    EnvironmentChange env = {};                 ///< on top of the agent's own environment
    SecretEnvironment secret_env = {};          ///< the same
    std::shared_ptr<const fs::Tree> tree = {};  ///< `root`, open since the agent's start
    std::optional<Error> no_tree = {};          ///< why it is not
  };
  /// Its directory on disk.
  struct Root {
    std::string path;  ///< absolute
    std::shared_ptr<const fs::Tree>
        tree;  ///< the directories that its file operations reach; null: the agent's root alone
    std::shared_ptr<const Ruleset> rules;  ///< what its commands put on; null: none
  };
  /// `on_idle` is called from the reactor when the idle timeout is over.
  Session(Supervisor& supervisor, IdLedger& ledger, Defaults& defaults, SessionSpec spec, Root root,
          std::function<void()> on_idle);

  [[nodiscard]] const std::string& id() const noexcept { return spec_->id; }
  [[nodiscard]] const SessionSpec& spec() const noexcept { return *spec_; }
  [[nodiscard]] const SessionSpec& asked_for() const noexcept { return *asked_for_; }
  [[nodiscard]] const std::string& root() const noexcept { return root_.path; }
  /// Of a stateful session: where the last command that saved has left it.
  [[nodiscard]] std::string cwd() const;
  /// A path as a client gives it, relative to the cwd or absolute, as an absolute one: for `tree()`.
  [[nodiscard]] std::string from_cwd(const std::string& path) const;
  [[nodiscard]] WallTime created_at() const noexcept { return created_at_; }
  [[nodiscard]] SteadyTime last_used() const noexcept { return last_used_; }
  [[nodiscard]] std::size_t live_commands() const noexcept;
  [[nodiscard]] std::size_t command_count() const noexcept { return commands_.size(); }

  struct Started {
    std::shared_ptr<Command> command;
    bool repeated = false;  ///< the id was used before, with the same content: nothing was started
  };
  /// Whom a command of that user, or the session's, is to run as: what `start` is given. Nothing: neither names one.
  using User = std::optional<Result<Credentials>>;
  [[nodiscard]] Task<User> find_user(std::optional<std::string> name) const;
  /// Starts a command as `user`, or answers the one that was started under the same id. Errors: command_conflict,
  /// command_forgotten, too_many_commands, invalid_field, user_not_found, cannot_switch_user, limit_unavailable.
  [[nodiscard]] Result<Started> start(CommandSpec spec, User user = std::nullopt);

  /// Errors: command_not_found; command_forgotten when the id was used here and its command is no longer kept.
  [[nodiscard]] Result<std::shared_ptr<Command>> find(const std::string& id) const;
  /// In the order in which they were started.
  [[nodiscard]] std::vector<std::shared_ptr<Command>> commands() const;
  /// Ends the command's tree and forgets it. It is out of lists at once; the answer waits until its processes are gone.
  [[nodiscard]] Task<Result<>> erase(std::string id);

  /// Errors: limit_unavailable; session_is_stateful for `env` and `cwd`, which are its shell's.
  [[nodiscard]] Result<> patch(const SessionPatch& patch);
  void touch() noexcept { last_used_ = std::chrono::steady_clock::now(); }

  /// Ends every command, then waits until they are gone; one whose grace is longer than `session_grace` is killed after
  /// that when the session is deleted. No command starts afterwards. Safe to repeat.
  [[nodiscard]] Task<> close(Cause cause);
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// Ends waits for the session's end (attached readers of a deleted session).
  [[nodiscard]] Task<> closing();

  /// The directories that its file operations reach: those that it was made with, wherever they are now. Errors: those
  /// of `fs::Tree::reopened` when one was removed.
  [[nodiscard]] Task<Result<std::shared_ptr<const fs::Tree>>> tree();

 private:
  /// How to run a command.
  struct Plan {
    SpawnRequest process;
    std::shared_ptr<ShellRun> shell;  ///< its part in the session's state; null: none
  };
  [[nodiscard]] Result<Plan> prepare(const CommandSpec& spec, User found) const;
  /// Of a stateful session: makes `environment` what its commands left, and tells which variables the command that is
  /// to run has to itself.
  [[nodiscard]] Names take_over_state(const CommandSpec& spec, Environment& environment) const;
  /// What runs a shell line; in a stateful session `own` are the variables that this command has to itself.
  void prepare_line(const CommandSpec& spec, const std::string& shell, Names own, Plan& plan,
                    Environment& environment) const;
  [[nodiscard]] std::string first_cwd() const;
  void watch_idleness();
  [[nodiscard]] static Task<> watch(std::shared_ptr<Session> self, std::shared_ptr<Command> command);

  using Order = std::list<std::shared_ptr<Command>>;
  void forget(const std::string& id);

  Supervisor& supervisor_;
  IdLedger& ledger_;
  Defaults& defaults_;
  std::shared_ptr<const SessionSpec> spec_;
  /// The request as it was, which a PUT is compared with; the same object as `spec_` until the first PATCH.
  std::shared_ptr<const SessionSpec> asked_for_;
  Root root_;
  std::shared_ptr<ShellState> shell_state_;  ///< null: stateless
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> commands_;  ///< by the ids that the commands hold
  Event closing_;
  WallTime created_at_ = wall_now();
  SteadyTime last_used_ = std::chrono::steady_clock::now();
  std::function<void()> on_idle_;
  std::optional<Deadline> idle_;
  bool closed_ = false;
};

}  // namespace skiff::sessions
