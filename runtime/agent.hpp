#pragma once

#include <string>

#include "base/blocking_pool.hpp"
#include "base/deadline.hpp"
#include "base/event.hpp"
#include "base/task_group.hpp"
#include "runtime/browser_guard.hpp"
#include "runtime/credentials.hpp"
#include "runtime/self_defence.hpp"
#include "runtime/settings.hpp"
#include "sessions/memory_guard.hpp"
#include "sessions/registry.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::runtime {

/// The running agent: its settings, what it guards, and the sessions. One per process. Reactor thread only.
struct Agent {
  Agent(Executor on, Settings with, Authenticator who, BrowserGuard browsers, const InheritedLimits& inherited);

  /// Ends every command with cause `shutdown`; from its start on nothing new begins and /readyz says 503.
  [[nodiscard]] Task<> drain();
  /// SIGKILL to every process of every command; a `drain` that waits out their graces ends then.
  void kill_everything() const;

  Executor executor;
  Settings settings;
  std::string instance;  ///< new with each boot
  Authenticator authenticator;
  BrowserGuard browser_guard;
  BlockingPool disk;
  sessions::Supervisor supervisor;
  sessions::Registry registry;
  sessions::MemoryGuard memory_guard;
  Event drain_begun;
  bool draining = false;
  SteadyTime started = std::chrono::steady_clock::now();

 private:
  void end_largest_command();

  Deadline guard_start_;                      ///< a command that is over at once is not worth a look at the memory
  std::weak_ptr<sessions::Command> guarded_;  ///< the command that the guard is ending
};

}  // namespace skiff::runtime
