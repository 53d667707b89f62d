#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "fs/watch/shared_watches.hpp"
#include "runtime/activity.hpp"
#include "runtime/api/code/contexts.hpp"
#include "runtime/auth/access.hpp"
#include "runtime/connections.hpp"
#include "runtime/egress/fence.hpp"
#include "runtime/egress/helper.hpp"
#include "runtime/egress/names/name_server.hpp"
#include "runtime/metrics.hpp"
#include "runtime/pools.hpp"
#include "runtime/process/early_oom.hpp"
#include "runtime/process/own_limits.hpp"
#include "runtime/process/self_defence.hpp"
#include "runtime/quotas.hpp"
#include "runtime/settings.hpp"
#include "runtime/shutdown.hpp"
#include "sessions/condition.hpp"
#include "sessions/registry.hpp"
#include "sessions/supervisor.hpp"

namespace skiff::runtime {

/// The agent's own environment without `SKIFF_*` and what `deny` names (sessions::inheritable_environment), with the
/// variables of the egress proxy, if there is one.
[[nodiscard]] sessions::Variables environment_below(const Settings& settings, const std::vector<std::string>& deny);

/// The running agent: its settings, credentials, thread pools and sessions. One per process. Reactor thread only.
struct Agent {
  Agent(Executor on, Settings with, Access who, const InheritedLimits& inherited,
        std::vector<std::string_view> spoken = {});

  /// Ends every command with cause `shutdown`.
  [[nodiscard]] Task<> drain();
  /// Sends SIGKILL to every process of every command, so that a `drain` that waits for their graces ends.
  void kill_everything() const;
  /// Restores the agent's own resource limits that another process lowered. If one cannot be restored, the agent fails:
  /// an agent that lives but cannot work serves no client, and its end is visible to its owner.
  OwnLimits::Kept keep_limits();
  /// `egress_waiting` until the sandbox's network is proved to be closed, if it has to be.
  [[nodiscard]] Result<> wait_for_fence() const;

  Executor executor;
  Settings settings;
  std::string instance;                    ///< id of this start of the agent
  std::vector<std::string_view> dialects;  ///< names of the dialects that are served
  SteadyTime started = std::chrono::steady_clock::now();
  Access access;
  RequestCounts requests;
  Activity activity;
  Connections connections;
  Quotas quotas;
  Pools pools;
  fs::DirectoryWatches watches;
  sessions::ListeningTcp listening_tcp;
  sessions::Supervisor supervisor;
  sessions::Registry registry;
  api::CodeContexts code_contexts;
  Shutdown shutdown;
  std::unique_ptr<egress::Fence> fence;       ///< null: nothing has to be proved before commands run
  std::unique_ptr<egress::Helper> egress;     ///< null: the sandbox has no egress proxy
  std::unique_ptr<egress::NameServer> names;  ///< null: names are looked up by the egress proxy alone, or by nobody
  bool initialised = false;                   ///< /v1/init was called
  sessions::Labels labels;                    ///< labels of the sandbox, from /v1/init

 private:
  OwnLimits own_limits_;
  EarlyOom early_oom_;
};

}  // namespace skiff::runtime
