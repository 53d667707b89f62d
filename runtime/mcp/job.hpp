#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/async/task.hpp"
#include "runtime/mcp/outbox.hpp"

namespace skiff::runtime::mcp {

/// One request that is being worked on, or a subscription: what it says to its client, and the means to end it. Reactor
/// thread only.
struct Job {
  Job(Executor executor, std::string who) : outbox{std::make_shared<Outbox>(executor)}, who{std::move(who)} {}

  /// Ends what it waits for, and work of a thread soon after; it is not answered.
  void cancel() {
    cancelled = true;
    stop.request_stop();
    outbox->close();
  }

  const std::shared_ptr<Outbox> outbox;
  const std::string who;  ///< whose credential it is for
  std::stop_source stop;
  bool cancelled = false;
  std::string command = {};  ///< the id of a command that it started, for the access log
};

/// What a job does; what it returns is the job's last message.
using Work = std::function<Task<std::string>()>;

/// Does a job's work until that is over or the job is cancelled, and closes its outbox.
[[nodiscard]] Task<> run_job(std::shared_ptr<Job> job, Work work);

}  // namespace skiff::runtime::mcp
