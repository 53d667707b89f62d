#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sessions/session.hpp"

namespace skiff::sessions {

/// Finds out, by running them, whether shells can do what a session wants of its own: keep its state from line to line
/// (`stateful`), or be a login shell. A name says nothing: /bin/sh may be any of them. Reactor thread only.
class ShellTrial {
 public:
  ShellTrial(Supervisor& supervisor, IdLedger& ledger, Session::Defaults& defaults)
      : supervisor_{supervisor}, ledger_{ledger}, defaults_{defaults} {}

  /// Runs nothing for a session that wants neither, for a shell that has passed, and while no command may be started.
  /// It has the session's isolation and limits, but no variables, and no home, of it. Errors: shell_unsuitable,
  /// draining.
  [[nodiscard]] Task<Result<>> pass(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules);

  /// From now on nothing is run. The sessions of the trials that go on: their caller ends them.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> close();

 private:
  [[nodiscard]] Task<Result<>> run(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules);

  Supervisor& supervisor_;
  IdLedger& ledger_;
  Session::Defaults& defaults_;
  bool closed_ = false;
  std::list<std::shared_ptr<Session>> running_;
  std::set<std::string> passed_;  ///< by the file and what was wanted
};

}  // namespace skiff::sessions
