#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"

/// Further data of the cluster about a Pod, for people who look for the reason of a problem.
namespace skiff::container {

/// `conditions` (type, status, reason, message, since), `containers` (name, state, restarts, reason), `volumes` (name,
/// kind, mounted_at) and `events` (type, reason, message, last_at, count), the oldest first. If something cannot be
/// read, `events_error` or `error` says why; the call never fails.
[[nodiscard]] Task<nlohmann::json> circumstances_of(kube::Client* client, std::string namespace_name, std::string pod);

struct AgentLogOptions {
  std::optional<std::uint64_t> tail = {};           ///< lines
  std::optional<std::uint64_t> since_seconds = {};  ///< only lines that are not older
  bool timestamps = false;
  bool previous = false;  ///< log of the container before its last restart
};

/// The output of skiffd and of a workload beside it, from the cluster.
[[nodiscard]] Task<Result<std::string>> agent_log(kube::Client* client, std::string namespace_name, std::string pod,
                                                  AgentLogOptions options);

}  // namespace skiff::container
