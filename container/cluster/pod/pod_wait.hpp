#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {

/// The meaning of a Pod's state for a caller that waits for its agent.
struct PodVerdict {
  Phase phase = Phase::scheduling;
  std::string detail = {};
  /// Why waiting longer is useless.
  std::optional<FailureReason> failure = {};
  /// False if the failure may pass: a first pull that failed, no suitable node yet.
  bool is_final = true;
  /// True for a failure that is not final but hardly ever passes: an image that does not exist.
  bool is_hopeless = false;
};

[[nodiscard]] PodVerdict judge_pod(const kube::Object& pod);

/// The Pod to wait for: it exists, or another process is creating it.
struct PodWait {
  std::string namespace_name;
  std::string name;
  /// The Pod as it was read after `news` was followed, or as the answer to its creation: then only this Pod counts, and
  /// not another of its name. Empty: it is read.
  std::optional<kube::Object> now = {};
  SteadyTime deadline = {};
  /// How long to wait for an image that probably does not exist: the kubelet tries again, and a registry may fail for a
  /// moment.
  std::chrono::milliseconds hopeless_patience{8'000};
  std::string agent_image = {};  ///< image with skiffd, if it is injected
};

/// Waits until the Pod is Ready and returns it. Fails with `sandbox_failed` as soon as it is clear that the Pod will
/// not be ready, with the reason and the last lines of its log or the last event about it. It waits until the deadline
/// for conditions that may pass (a full cluster that grows, a slow volume). `news` belongs to this Pod and was followed
/// before the Pod was read or created.
[[nodiscard]] Task<Result<kube::Object>> wait_until_ready(kube::Client* client, kube::SharedWatch::Reader* news,
                                                          PodWait wait, Progress progress);

/// Waits until the cloud has given a LoadBalancer of that name an address, and returns the Service. `sandbox_failed` at
/// the deadline, with the last warning about it, or when it was deleted.
[[nodiscard]] Task<Result<kube::Object>> wait_for_address(kube::Client* client, std::string namespace_name,
                                                          std::string service, SteadyTime deadline);

/// Longest time until a deleted object of a pool is gone.
inline constexpr std::chrono::milliseconds kRemovalTime{60'000};

/// An object that was deleted.
struct GoneWait {
  kube::Resource resource;
  std::string namespace_name;
  std::string name;
  std::string uid = {};      ///< only the object with this uid; empty: any of that name
  std::string version = {};  ///< version in the answer to its deletion; empty: the object is read
  std::chrono::milliseconds limit;
};

/// Waits until the object is gone. `timeout` after `limit`. `news` belongs to this object and was followed before it
/// was deleted; null: the call opens a watch of its own.
[[nodiscard]] Task<Result<>> wait_until_gone(kube::Client* client, GoneWait wait,
                                             kube::SharedWatch::Reader* news = nullptr);

}  // namespace skiff::container
