#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/client.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {

/// What the state of a Pod means for somebody who waits for its agent.
struct PodVerdict {
  Phase phase = Phase::scheduling;
  std::string detail = {};
  /// Waiting longer is of no use, and why.
  std::optional<FailureReason> failure = {};
  /// Else it may pass: a first pull that failed, no node that fits yet.
  bool is_final = true;
  /// Not final yet, but of a kind that hardly ever passes: an image that is not there.
  bool is_hopeless = false;
};

[[nodiscard]] PodVerdict judge_pod(const kube::Object& pod);

/// A Pod that was created, or exists, or that somebody is just making.
struct PodWait {
  std::string namespace_name;
  std::string name;
  /// As it was when `news` was followed already, or as its creation was answered: only this one counts then, another of
  /// that name is somebody else's. None: looked up.
  std::optional<kube::Object> now = {};
  SteadyTime deadline = {};
  /// An image that can hardly ever be had is waited for so long: the kubelet tries it again, and a registry may
  /// stumble.
  std::chrono::milliseconds hopeless_patience{8'000};
  std::string agent_image = {};  ///< where skiffd comes from, when it is injected
};

/// Waits until the Pod is Ready and gives it. Fails as soon as it is clear that it won't be, with the reason and the
/// last lines of its log or the last event about it: `sandbox_failed`. What may pass (a full cluster that grows, a late
/// volume) is waited for until the deadline. `news` is of this Pod and was followed before it was looked at or created.
[[nodiscard]] Task<Result<kube::Object>> wait_until_ready(kube::Client* client, kube::SharedWatch::Reader* news,
                                                          PodWait wait, Progress progress);

/// Waits until a cloud has given a LoadBalancer of that name an address, and gives it. `sandbox_failed` at the
/// deadline, with the last warning about it, and as soon as it is gone.
[[nodiscard]] Task<Result<kube::Object>> wait_for_address(kube::Client* client, std::string namespace_name,
                                                          std::string service, SteadyTime deadline);

/// What an object of a pool may take to go once it was deleted.
inline constexpr std::chrono::milliseconds kRemovalTime{60'000};

/// An object that was deleted.
struct GoneWait {
  kube::Resource resource;
  std::string namespace_name;
  std::string name;
  std::string uid = {};      ///< only this one; empty: any of that name
  std::string version = {};  ///< as its deletion was answered; empty: it is looked up
  std::chrono::milliseconds limit;
};

/// Waits until there is no such object. `timeout` after `limit`. `news` is of this object and was followed before it
/// was deleted; null: a watch of its own is opened.
[[nodiscard]] Task<Result<>> wait_until_gone(kube::Client* client, GoneWait wait,
                                             kube::SharedWatch::Reader* news = nullptr);

}  // namespace skiff::container
