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

/// Whether file operations may write below an extra root.
enum class RootAccess : unsigned char { rw, ro };

/// A directory outside the root that the session's file operations may use.
struct ExtraRoot {
  std::string path;  ///< absolute
  RootAccess access = RootAccess::rw;

  [[nodiscard]] bool operator==(const ExtraRoot&) const = default;
};

struct SessionSpec {
  std::string id;                   ///< empty: the agent generates one
  std::optional<std::string> root;  ///< below the agent's root; created if missing
  std::vector<ExtraRoot> extra_roots;
  std::optional<std::string> cwd;  ///< relative to the root
  EnvironmentChange env;
  SecretEnvironment secret_env;
  std::vector<std::string> env_unset;
  bool env_inherit = true;
  std::optional<std::string> user;
  std::optional<std::string> shell;  ///< absolute path
  bool login_shell = false;
  bool stateful_shell = false;  ///< a shell line finds the shell state of the line before (docs/stateful.md)
  bool keep_functions = true;   ///< the state includes functions, if the shell can print them
  Labels labels;
  std::optional<std::chrono::milliseconds> idle_timeout;
  std::optional<std::chrono::milliseconds> default_timeout;
  ResourceLimits limits;  ///< for commands without limits of their own
  Isolation isolation = Isolation::none;

  [[nodiscard]] bool operator==(const SessionSpec&) const = default;
};

/// A client's changes to a session. An absent member changes nothing; a present member without a value removes it.
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
  /// The agent's defaults for every session.
  struct Defaults {
    std::string root;     ///< absolute
    std::string shell;    ///< absolute path of the default shell
    Variables inherited;  ///< the variables of the agent's environment that commands inherit
    bool may_switch_user = true;
    EnvironmentChange env = {};                 ///< on top of the agent's own environment
    SecretEnvironment secret_env = {};          ///< secret variables on top of the agent's own environment
    std::shared_ptr<const fs::Tree> tree = {};  ///< `root`, open since the agent's start
    std::optional<Error> no_tree = {};          ///< why `root` could not be opened
  };
  /// The session's directory on disk.
  struct Root {
    std::string path;  ///< absolute
    std::shared_ptr<const fs::Tree>
        tree;  ///< the directories that its file operations reach; null: the agent's root alone
    std::shared_ptr<const Ruleset> rules;  ///< Landlock rules of its commands; null: none
  };
  /// `on_idle` is called on the reactor when the idle timeout is over.
  Session(Supervisor& supervisor, IdLedger& ledger, Defaults& defaults, SessionSpec spec, Root root,
          std::function<void()> on_idle);

  [[nodiscard]] const std::string& id() const noexcept { return spec_->id; }
  [[nodiscard]] const SessionSpec& spec() const noexcept { return *spec_; }
  [[nodiscard]] const SessionSpec& asked_for() const noexcept { return *asked_for_; }
  [[nodiscard]] const std::string& root() const noexcept { return root_.path; }
  /// The working directory of the next command. In a stateful session that is the one that the last command with saved
  /// state left.
  [[nodiscard]] std::string cwd() const;
  /// Makes a client's path absolute, relative to `cwd()`, for use with `tree()`.
  [[nodiscard]] std::string from_cwd(const std::string& path) const;
  [[nodiscard]] WallTime created_at() const noexcept { return created_at_; }
  [[nodiscard]] SteadyTime last_used() const noexcept { return last_used_; }
  [[nodiscard]] std::size_t live_commands() const noexcept;
  [[nodiscard]] std::size_t command_count() const noexcept { return commands_.size(); }

  struct Started {
    std::shared_ptr<Command> command;
    bool repeated = false;  ///< the id was used before with an equal request: nothing was started
  };
  /// The credentials for `start`: of the user that a command or its session names. Empty if neither names one.
  using User = std::optional<Result<Credentials>>;
  [[nodiscard]] Task<User> find_user(std::optional<std::string> name) const;
  /// Starts a command as `user`, or returns the one that was started under the same id. Errors: session_not_found,
  /// command_conflict, command_forgotten, too_many_commands, invalid_field, user_not_found, cannot_switch_user,
  /// limit_unavailable.
  [[nodiscard]] Result<Started> start(CommandSpec spec, User user = std::nullopt);

  /// Errors: command_not_found; command_forgotten when the id was used here and its command is no longer kept.
  [[nodiscard]] Result<std::shared_ptr<Command>> find(const std::string& id) const;
  /// The commands in the order of their starts.
  [[nodiscard]] std::vector<std::shared_ptr<Command>> commands() const;
  /// Ends the command's tree and forgets it. Lists omit it at once; the call returns when its processes are gone.
  [[nodiscard]] Task<Result<>> erase(std::string id);

  /// Errors: limit_unavailable; session_is_stateful for `env` and `cwd`, which the shell keeps.
  [[nodiscard]] Result<> patch(const SessionPatch& patch);
  void touch() noexcept { last_used_ = std::chrono::steady_clock::now(); }

  /// Ends every command and waits until they are gone. When the session is deleted, commands that still run after
  /// `session_grace` are killed. No command starts afterwards. Safe to repeat.
  [[nodiscard]] Task<> close(Cause cause);
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// Ends when the session is being closed, for readers attached to its commands.
  [[nodiscard]] Task<> closing();

  /// The directories that the session's file operations may use: those it was created with, even if they were moved.
  /// Errors: those of `living`.
  [[nodiscard]] Task<Result<std::shared_ptr<const fs::Tree>>> tree();

 private:
  /// The plan for running a command.
  struct Plan {
    SpawnRequest process;
    std::shared_ptr<ShellRun> shell;  ///< the command's part in the shell state; null: none
  };
  [[nodiscard]] Result<Plan> prepare(const CommandSpec& spec, User found) const;
  /// In a stateful session: applies the saved shell state to `environment`. Returns the names of the variables that are
  /// not part of that state, because only this command gets them or they are secret.
  [[nodiscard]] Names take_over_state(const CommandSpec& spec, Environment& environment) const;
  /// Fills `plan` with the shell invocation for a line. In a stateful session `own` names the variables that are not
  /// part of the shell state.
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
  /// The original request, which a PUT is compared with; the same object as `spec_` until the first PATCH.
  std::shared_ptr<const SessionSpec> asked_for_;
  Root root_;
  std::shared_ptr<ShellState> shell_state_;  ///< null: stateless
  Order order_;
  std::unordered_map<std::string_view, Order::iterator>
      commands_;  ///< by id; the keys refer to the commands' own strings
  Event closing_;
  WallTime created_at_ = wall_now();
  SteadyTime last_used_ = std::chrono::steady_clock::now();
  std::function<void()> on_idle_;
  std::optional<Deadline> idle_;
  bool closed_ = false;
};

}  // namespace skiff::sessions
