#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "sessions/session.hpp"
#include "sessions/shell_trial.hpp"

namespace skiff::sessions {

/// All sessions of the agent, by id. The session `default` always exists. Reactor thread only.
class Registry {
 public:
  static constexpr std::string_view kDefault = "default";

  Registry(Supervisor& supervisor, Session::Defaults defaults);

  /// Errors: session_conflict when the id is taken, too_many_sessions, invalid_field, invalid_id, user_not_found,
  /// limit_unavailable, isolation_unavailable, shell_unsuitable, path_not_found (an extra root).
  [[nodiscard]] Task<Result<std::shared_ptr<Session>>> create(SessionSpec spec);
  struct Put {
    std::shared_ptr<Session> session;
    bool created = false;
  };
  /// Creates the session, or returns the one that was created with an equal request. Errors: those of `create`.
  [[nodiscard]] Task<Result<Put>> put(SessionSpec spec);
  /// Finds a session, also one that is being deleted. Errors: invalid_id, session_not_found.
  [[nodiscard]] Result<std::shared_ptr<Session>> find(std::string_view id) const;
  /// All sessions in the order of their ids, including those that are being deleted.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all() const;
  /// The sessions in the order of their ids, except those that are being deleted.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> sessions() const;
  /// Ends the session's commands and forgets it, also when the caller is cancelled. With `purge` it then deletes the
  /// session's root directory. Errors: session_not_found, session_protected (the default session), invalid_field (purge
  /// without a root of its own), io_error.
  [[nodiscard]] Task<Result<>> erase(std::string id, bool purge);

  /// Sets the variables that later commands of all sessions get on top of the agent's own environment.
  void set_environment(EnvironmentChange env, SecretEnvironment secret_env) {
    defaults_.env = std::move(env);
    defaults_.secret_env = std::move(secret_env);
  }

  /// Ends every command of every session with cause `shutdown`; no command starts afterwards.
  [[nodiscard]] Task<> drain();

 private:
  /// Checks the id, the number of sessions, the limits and the isolation; touches no file.
  [[nodiscard]] Result<> check(const SessionSpec& spec) const;
  /// Opens the session's directories. Any thread; it blocks on file systems.
  [[nodiscard]] static Result<Session::Root> open_root(std::shared_ptr<const fs::Tree> agents_tree,
                                                       const std::optional<Error>& no_tree,
                                                       const std::string& agent_root, const SessionSpec& spec);
  [[nodiscard]] std::shared_ptr<Session> make(SessionSpec spec, Session::Root root);
  [[nodiscard]] Task<> expire(std::string id);
  [[nodiscard]] Task<> forget(std::shared_ptr<Session> session);
  [[nodiscard]] bool is_there(const Session& session) const;

  Supervisor& supervisor_;
  Session::Defaults defaults_;
  IdLedger ledger_;
  ShellTrial trial_{supervisor_, ledger_, defaults_};
  std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_;
  Event forgotten_;
};

}  // namespace skiff::sessions
