#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/client.hpp"

/// What a cluster knows of a Pod beside what skiff needs of it, for people who look for a reason.
namespace skiff::container {

/// `conditions` (type, status, reason, message, since), `containers` (name, state, restarts, reason), `volumes` (name,
/// kind, mounted_at) and `events` (type, reason, message, last_at, count), the oldest first. What can't be asked for is
/// said in `events_error` or `error`; nothing fails.
[[nodiscard]] Task<nlohmann::json> circumstances_of(kube::Client* client, std::string namespace_name, std::string pod);

struct AgentLogOptions {
  std::optional<std::uint64_t> tail = {};           ///< lines
  std::optional<std::uint64_t> since_seconds = {};  ///< none that are older
  bool timestamps = false;
  bool previous = false;  ///< of the container before its last restart
};

/// What skiffd and a workload beside it have printed, as the cluster keeps it.
[[nodiscard]] Task<Result<std::string>> agent_log(kube::Client* client, std::string namespace_name, std::string pod,
                                                  AgentLogOptions options);

}  // namespace skiff::container
