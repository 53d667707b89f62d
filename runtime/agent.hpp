#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/fair_semaphore.hpp"
#include "base/async/task_group.hpp"
#include "base/shares.hpp"
#include "fs/watch/shared_watches.hpp"
#include "protocol/net/receive_budget.hpp"
#include "runtime/activity.hpp"
#include "runtime/auth/audit_log.hpp"
#include "runtime/auth/browser_guard.hpp"
#include "runtime/auth/credentials.hpp"
#include "runtime/last_word.hpp"
#include "runtime/metrics.hpp"
#include "runtime/process/own_limits.hpp"
#include "runtime/process/self_defence.hpp"
#include "runtime/settings.hpp"
#include "sessions/condition.hpp"
#include "sessions/host/memory_guard.hpp"
#include "sessions/registry.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::protocol {
class HttpServer;
}

namespace skiff::runtime {

namespace mcp {
class Clients;
}

/// The running agent: its settings, credentials, thread pools and sessions. One per process. Reactor thread only.
struct Agent {
  Agent(Executor on, Settings with, Authenticator who, BrowserGuard browsers, const InheritedLimits& inherited,
        std::vector<std::string_view> spoken = {});

  /// Ends every command with cause `shutdown`. From its start on no new work begins, and /readyz answers 503.
  [[nodiscard]] Task<> drain();
  /// Sends SIGKILL to every process of every command, so that a `drain` that waits for their graces ends.
  void kill_everything() const;

  /// Asks for the agent's end. The first cause counts; `why` is for people. Returns false if the agent is already
  /// stopping.
  bool stop(EndCause cause, std::string_view why);
  /// Stops the agent because it cannot go on; the process exits with status 1.
  void fail(std::string_view why);
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Restores the agent's own resource limits that another process lowered. If one cannot be restored, the agent fails:
  /// an agent that lives but cannot work serves no client, and its end is visible to its owner.
  OwnLimits::Kept keep_limits();
  [[nodiscard]] Task<> stop_asked();
  /// True when the agent stops because its lease or its idle time is over.
  [[nodiscard]] bool outlived() const noexcept { return stopping_ && cause_ == EndCause::lease; }
  /// Writes the reason for the end to the termination log; call it last.
  void say_last_word() const noexcept { write_last_word(settings.termination_log, cause_, why_); }

  /// Counts a WebSocket while it is open.
  class OpenSocket {
   public:
    explicit OpenSocket(Agent& agent) : agent_{agent}, use_{agent.activity} { ++agent.websockets; }
    OpenSocket(const OpenSocket&) = delete;
    OpenSocket& operator=(const OpenSocket&) = delete;
    ~OpenSocket() { --agent_.websockets; }

   private:
    Agent& agent_;
    Activity::Use use_;
  };

  Executor executor;
  Settings settings;
  std::string instance;  ///< id of this start of the agent
  Authenticator authenticator;
  BrowserGuard browser_guard;
  std::vector<std::string_view> dialects;  ///< names of the dialects that are served
  RequestCounts requests;
  Activity activity;
  protocol::ReceiveBudget received;  ///< memory for received bytes, for all servers of the agent
  Shares channels;                   ///< channels of WebSockets, for all connections
  Shares transfers;                  ///< searches and archives that wait for their clients
  FairSemaphore large_answers;       ///< see `api::turn_to_answer`
  FairSemaphore composed_answers;    ///< the same for dialects, which hold it while they wait for `long_work`
  BlockingPool disk;                 ///< for short work
  BlockingPool long_work;            ///< for work on a tree or a large file: see `api::on_disk`
  BlockingPool search;               ///< for searches and archives, which run at the client's speed
  BlockingPool watching;             ///< for the watches of directories
  fs::DirectoryWatches watches;
  sessions::ListeningTcp listening_tcp;
  sessions::PatternThread pattern_thread;
  sessions::Supervisor supervisor;
  sessions::Registry registry;
  sessions::MemoryGuard memory_guard;
  Event drain_begun;
  bool draining = false;
  bool initialised = false;           ///< /v1/init was called
  sessions::Labels labels;            ///< labels of the sandbox, from /v1/init
  std::unique_ptr<AuditLog> audit;    ///< null: no audit log
  std::shared_ptr<mcp::Clients> mcp;  ///< clients of /mcp
  const protocol::HttpServer* server = nullptr;
  std::vector<std::uint16_t> own_ports;  ///< ports on which the agent and its dialects listen
  std::size_t websockets = 0;
  SteadyTime started = std::chrono::steady_clock::now();

 private:
  [[nodiscard]] Task<> end_largest_command();
  void live_changed();

  Event stop_asked_;
  bool stopping_ = false;
  EndCause cause_ = EndCause::failure;
  std::string why_ = {};
  bool failed_ = false;
  OwnLimits own_limits_;

  Deadline guard_start_;                      ///< starts the guard, unless the commands end at once
  std::weak_ptr<sessions::Command> guarded_;  ///< the command that the guard is ending
  bool guard_looks_ = false;
};

}  // namespace skiff::runtime
