#pragma once

#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "runtime/process/self_defence.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::runtime {

/// The program behind `--`: a child with the agent's own stdin, stdout and stderr and its environment without SKIFF_*,
/// that the agent lives as long as. No session knows it. Reactor thread only; it outlives its tasks in the supervisor's
/// group.
class Workload {
 public:
  /// `argv` is not empty.
  Workload(sessions::Supervisor& supervisor, std::vector<std::string> argv, const InheritedLimits& inherited);

  /// Starts it. Errors say why it could not be; then `status` is 127 (no such program) or 126, as a shell's would be.
  [[nodiscard]] Task<Result<>> start();
  /// SIGTERM to it alone: what becomes of its children is its own business, as under any init.
  void terminate();
  /// SIGKILL to it and to everything that it started.
  [[nodiscard]] Task<> kill();

  /// Ends when it has ended; at once when it was never started.
  [[nodiscard]] Task<> ended();
  /// Ends when nothing that it started is left; what is gets SIGTERM, then SIGKILL. Await `ended` first.
  [[nodiscard]] Task<> sweep();

  /// Its exit status as a shell would say it: 128 + N for signal N.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  sessions::Supervisor& supervisor_;
  std::vector<std::string> argv_;
  InheritedLimits inherited_;
  Event changed_;
  sessions::Tag tag_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool running_ = false;
};

}  // namespace skiff::runtime
