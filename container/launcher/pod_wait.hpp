#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/client.hpp"
#include "container/launcher/progress.hpp"

namespace skiff::container {

/// What the state of a Pod means for somebody who waits for its agent.
struct PodVerdict {
  Phase phase = Phase::scheduling;
  std::string detail = {};
  /// Waiting longer is of no use, and why.
  std::optional<FailureReason> failure = {};
  /// It may still change within seconds (a first pull that failed, no node that fits), so it must stay for a while.
  bool is_final = true;
};

[[nodiscard]] PodVerdict judge_pod(const kube::Object& pod);

/// A Pod that was created, or exists.
struct PodWait {
  std::string namespace_name;
  std::string name;
  std::string uid = {};               ///< only this one: another of that name is somebody else's; empty: any, also one
                                      ///< that somebody is just making
  std::string resource_version = {};  ///< of its creation: nothing is missed, and nothing listed
  SteadyTime deadline = {};
  std::string agent_image = {};  ///< where skiffd comes from, when it is injected
};

/// Watches until the Pod is Ready and gives it. Fails as soon as it is clear that it won't be, with the reason and the
/// last lines of its log or the last event about it: `sandbox_failed`.
[[nodiscard]] Task<Result<kube::Object>> wait_until_ready(kube::Client* client, PodWait wait, Progress progress);

/// Watches until there is no object of that name (and uid, if given). `timeout` after `limit`.
[[nodiscard]] Task<Result<>> wait_until_gone(kube::Client* client, kube::Resource resource, std::string namespace_name,
                                             std::string name, std::string uid, std::chrono::milliseconds limit);

}  // namespace skiff::container
