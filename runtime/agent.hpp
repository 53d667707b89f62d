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

/// The running agent: its settings, what it guards, and the sessions. One per process. Reactor thread only.
struct Agent {
  Agent(Executor on, Settings with, Authenticator who, BrowserGuard browsers, const InheritedLimits& inherited,
        std::vector<std::string_view> spoken = {});

  /// Ends every command with cause `shutdown`; from its start on nothing new begins and /readyz says 503.
  [[nodiscard]] Task<> drain();
  /// SIGKILL to every process of every command; a `drain` that waits out their graces ends then.
  void kill_everything() const;

  /// Asks for the agent's end. The first cause counts, and `why` is for people; false: it ends already.
  bool stop(EndCause cause, std::string_view why);
  /// The same because it can't go on: the process ends with a status that says so.
  void fail(std::string_view why);
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Takes back what was lowered of the agent's own limits from outside. Where one is lost it fails: nobody is served
  /// by an agent that lives on and can't work, and its end is seen by whoever made it.
  OwnLimits::Kept keep_limits();
  [[nodiscard]] Task<> stop_asked();
  /// The lease or the idle time is over.
  [[nodiscard]] bool outlived() const noexcept { return stopping_ && cause_ == EndCause::lease; }
  /// Writes down why it ends, where somebody wants to know; call it last of all.
  void say_last_word() const noexcept { write_last_word(settings.termination_log, cause_, why_); }

  /// A WebSocket, as long as it is open.
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
  std::string instance;  ///< new with each boot
  Authenticator authenticator;
  BrowserGuard browser_guard;
  std::vector<std::string_view> dialects;  ///< that it speaks
  RequestCounts requests;
  Activity activity;
  protocol::ReceiveBudget received;  ///< by all servers of the agent
  Shares channels;                   ///< of all connections
  Shares transfers;                  ///< searches and archives that wait for their clients
  FairSemaphore large_answers;       ///< see `api::turn_to_answer`
  FairSemaphore composed_answers;    ///< the same of dialects, which wait for `long_work` meanwhile
  BlockingPool disk;                 ///< for what is over in a moment
  BlockingPool long_work;            ///< for what goes through a tree or a large file: see `api::on_disk`
  BlockingPool search;    ///< for searches and archives: what they send or take goes as fast as the client does
  BlockingPool watching;  ///< for the watches of directories
  fs::DirectoryWatches watches;
  sessions::ListeningTcp listening_tcp;
  sessions::PatternThread pattern_thread;
  sessions::Supervisor supervisor;
  sessions::Registry registry;
  sessions::MemoryGuard memory_guard;
  Event drain_begun;
  bool draining = false;
  bool initialised = false;           ///< /v1/init was called
  sessions::Labels labels;            ///< of the sandbox, from /v1/init
  std::unique_ptr<AuditLog> audit;    ///< may be null
  std::shared_ptr<mcp::Clients> mcp;  ///< of /mcp
  const protocol::HttpServer* server = nullptr;
  std::vector<std::uint16_t> own_ports;  ///< on which it and its dialects listen
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

  Deadline guard_start_;                      ///< a command that is over at once is not worth a look at the memory
  std::weak_ptr<sessions::Command> guarded_;  ///< the command that the guard is ending
  bool guard_looks_ = false;
};

}  // namespace skiff::runtime
