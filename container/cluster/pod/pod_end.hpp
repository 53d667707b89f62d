#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/kube/objects/object.hpp"

/// How a Pod ended, by written records: skiffd writes into the termination message of its container; the kubelet, the
/// scheduler and the controllers write into the status. The phase is not used: an evicted Pod has succeeded, too, if
/// its programs end well.
namespace skiff::container {

enum class EndedBy : std::uint8_t {
  lease,          ///< its lease or idle time was over, as its agent says
  workload,       ///< its workload has ended with status 0
  deadline,       ///< the deadline of its Pod (activeDeadlineSeconds)
  eviction,       ///< evicted by its node, for its use of resources or the node's lack of them
  drain,          ///< evicted by the eviction API
  preemption,     ///< removed for a Pod of higher priority
  node_lost,      ///< its node does not answer, is gone, or has a taint that the Pod does not tolerate
  node_shutdown,  ///< its node was shut down in good order
  out_of_memory,  ///< its container exceeded its memory limit
  signal,         ///< a signal from outside, of unknown origin
  failure,        ///< its agent or the cluster failed
  unsaid,         ///< it ended well, for an unknown reason
};

struct PodEnd {
  EndedBy by = EndedBy::unsaid;
  std::string why = {};       ///< for people: "it was evicted: ..."
  std::string ended_at = {};  ///< RFC 3339; empty: unknown
};

/// The word for a sandbox's `details` and metrics: "out_of_memory".
[[nodiscard]] std::string_view word_of(EndedBy by) noexcept;

/// True if the sandbox came to its regular end, so it is not needed any more.
[[nodiscard]] bool is_own_end(EndedBy by) noexcept;

/// The recorded disruption of a Pod, even while it still runs; nullopt if there is none.
[[nodiscard]] std::optional<PodEnd> disruption_of(const kube::Object& pod);

/// True if the Pod's node is silent. The node controller first marks its Pods as not ready, without a reason, while
/// their containers keep the kubelet's last state, and then as Pods that a taint removes.
[[nodiscard]] bool is_node_silent(const kube::Object& pod);

/// The end of a Pod whose phase is Succeeded or Failed.
[[nodiscard]] PodEnd end_of(const kube::Object& pod);

/// The last word that skiffd wrote at its end; nullopt for any other text.
struct LastWord {
  EndedBy by = EndedBy::unsaid;
  std::string why = {};
};
[[nodiscard]] std::optional<LastWord> last_word_in(std::string_view message);

/// True if the lease was over when the Pod ended; both times are RFC 3339.
[[nodiscard]] bool was_lease_over(std::string_view ended_at, const std::optional<std::string>& expires_at);

/// The end that an event about a Pod reports; nullopt for other events.
[[nodiscard]] std::optional<PodEnd> end_in_event(std::string_view reason, std::string_view message);

}  // namespace skiff::container
