#pragma once

#include <optional>
#include <string>
#include <tuple>

#include <nlohmann/json_fwd.hpp>

#include "container/cluster/pod/pod_end.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

/// The controller of agent-sandbox replaces a Pod that was deleted by a new one of the same name, and its status does
/// not say so. A claim, or a bare Sandbox, therefore notes the Pod in which skiff has seen it up, in an annotation.
/// This file sends no requests.
namespace skiff::container {

struct NotedPod {
  std::string uid = {};         ///< empty: it was up before, but was stopped since, or is being started
  std::string node = {};        ///< its node
  std::string started_at = {};  ///< RFC 3339: when it began to run there
  /// How the Pod before it ended, if files outside of volumes were lost with it; else empty.
  std::string lost_with = {};

  static constexpr auto fields = std::tuple{
      protocol::field("uid", &NotedPod::uid, "Uid of the Pod", {.optional = true}),
      protocol::field("node", &NotedPod::node, "Node of the Pod", {.optional = true}),
      protocol::field("started_at", &NotedPod::started_at, "Start of the Pod", {.optional = true}),
      protocol::field("lost_with", &NotedPod::lost_with, "End of the Pod before it", {.optional = true}),
  };
};

/// nullopt if the sandbox was never seen up, and for objects that skiff did not create.
[[nodiscard]] std::optional<NotedPod> noted_pod(const kube::Object& object);

/// True if nobody has noted the Pod in which a sandbox of skiff's is now: it is being created or started, or whoever
/// did that was killed.
[[nodiscard]] bool lacks_note(const kube::Object& object);

/// The merge patch (RFC 7396) that notes that the sandbox is up in this Pod.
[[nodiscard]] nlohmann::json up_note(const kube::Object& pod, std::string lost_with);
/// The merge patch that notes that the sandbox has no Pod on purpose. Write it before the Pod is ended.
[[nodiscard]] nlohmann::json down_note(std::string lost_with);

/// Describes a sandbox whose noted Pod is gone. `end`: how the Pod ended, if that is known.
void describe_loss(Sandbox& sandbox, const std::optional<PodEnd>& end);
/// The text of `lost_with` for a start of this sandbox; empty if no files were lost.
[[nodiscard]] std::string loss_before_start(const kube::Object& object, const Sandbox& now);

}  // namespace skiff::container
