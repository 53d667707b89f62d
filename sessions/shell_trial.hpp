#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sessions/session.hpp"

namespace skiff::sessions {

/// Runs a session's shell to find out whether it can do what the session needs: keep its state from line to line
/// (`stateful_shell`), or be a login shell. The name is not enough: /bin/sh may be any shell. Reactor thread only.
class ShellTrial {
 public:
  ShellTrial(Supervisor& supervisor, IdLedger& ledger, Session::Defaults& defaults)
      : supervisor_{supervisor}, ledger_{ledger}, defaults_{defaults} {}

  /// Tries the shell of `wanted`. Runs nothing for a session that needs neither feature, for a shell that has passed
  /// before, or while no command may be started. The trial has the session's user, isolation and limits, but not its
  /// variables or home. Errors: shell_unsuitable, draining.
  [[nodiscard]] Task<Result<>> pass(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules);

  /// Refuses further trials. Returns the sessions of the trials that are running; the caller ends them.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> close();

 private:
  [[nodiscard]] Task<Result<>> run(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules);

  Supervisor& supervisor_;
  IdLedger& ledger_;
  Session::Defaults& defaults_;
  bool closed_ = false;
  std::list<std::shared_ptr<Session>> running_;
  std::set<std::string> passed_;  ///< keys of `trial_key`
};

}  // namespace skiff::sessions
