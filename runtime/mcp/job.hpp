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

/// A running request, or a subscription: its messages to the client, and the means to end it. Reactor thread only.
struct Job {
  Job(Executor executor, std::string who) : outbox{std::make_shared<Outbox>(executor)}, who{std::move(who)} {}

  /// Ends its waits, and its work on a thread soon after. It gets no answer.
  void cancel() {
    cancelled = true;
    stop.request_stop();
    outbox->close();
  }

  const std::shared_ptr<Outbox> outbox;
  const std::string who;  ///< the holder of the credential that it works for
  std::stop_source stop;
  bool cancelled = false;
  std::string command = {};  ///< the id of a command that it started, for the access log
};

/// The work of a job. Its result is the job's last message.
using Work = std::function<Task<std::string>()>;

/// Runs a job's work until it has ended or the job is cancelled, and closes its outbox.
[[nodiscard]] Task<> run_job(std::shared_ptr<Job> job, Work work);

}  // namespace skiff::runtime::mcp
