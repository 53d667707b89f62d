#pragma once

#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "runtime/process/self_defence.hpp"
#include "sessions/spawn/environment.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::runtime {

/// The program after `--`: a child with the agent's own stdin, stdout and stderr and its environment without SKIFF_*.
/// The agent stops when it ends. It belongs to no session. Reactor thread only; it outlives its tasks in the
/// supervisor's group.
class Workload {
 public:
  /// `argv` is not empty; `env` is the program's environment.
  Workload(sessions::Supervisor& supervisor, std::vector<std::string> argv, sessions::Variables env,
           const InheritedLimits& inherited);

  /// Starts the program. If it cannot start, `status` is 127 (no such program) or 126, as in a shell. Errors:
  /// invalid_request, with the reason.
  [[nodiscard]] Task<Result<>> start();
  /// Sends SIGTERM to the program only; it is responsible for its children, as under any init.
  void terminate();
  /// Sends SIGKILL to the program and to everything that it started.
  [[nodiscard]] Task<> kill();

  /// Ends when the program has ended; at once if it was not started.
  [[nodiscard]] Task<> ended();
  /// Ends the processes that the program left behind, by SIGTERM, then SIGKILL. Await `ended` first.
  [[nodiscard]] Task<> sweep();

  /// The exit status as a shell reports it: 128 + N for signal N.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  sessions::Supervisor& supervisor_;
  std::vector<std::string> argv_;
  sessions::Variables env_;
  InheritedLimits inherited_;
  Event changed_;
  sessions::Tag tag_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool running_ = false;
};

}  // namespace skiff::runtime
