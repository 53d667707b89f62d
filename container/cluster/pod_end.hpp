#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/kube/object.hpp"

/// How a Pod ended, by what somebody has written down: skiffd into the termination message of its container, the
/// kubelet, the scheduler and the controllers into the status. Nothing is guessed from the phase: a Pod that is evicted
/// has succeeded as well, when its programs end well.
namespace skiff::container {

enum class EndedBy : std::uint8_t {
  lease,          ///< or its idle time: its agent says so
  workload,       ///< the program that it was for has ended, with status 0
  deadline,       ///< the time that its Pod was given (activeDeadlineSeconds)
  eviction,       ///< by its node, for what it used or the node lacked
  drain,          ///< by the eviction API
  preemption,     ///< for a Pod of higher priority
  node_lost,      ///< its node does not answer, is gone, or has a taint that it does not bear
  node_shutdown,  ///< in good order
  out_of_memory,  ///< of its container's limit
  signal,         ///< from outside, and nobody says whose
  failure,        ///< of its agent or of the cluster
  unsaid,         ///< it ended well, and nobody has said why
};

struct PodEnd {
  EndedBy by = EndedBy::unsaid;
  std::string why = {};       ///< for people: "it was evicted: ..."
  std::string ended_at = {};  ///< RFC 3339; empty: nobody says
};

/// As `details` of a sandbox and metrics have it: "out_of_memory".
[[nodiscard]] std::string_view word_of(EndedBy by) noexcept;

/// It has had its time, so nobody will want it any more.
[[nodiscard]] bool is_own_end(EndedBy by) noexcept;

/// What disrupts a Pod, also while it still runs; nothing when nobody has written anything.
[[nodiscard]] std::optional<PodEnd> disruption_of(const kube::Object& pod);

/// The node's controller marks the Pods of a node that is silent: as not ready, without a reason, while their
/// containers stay as the kubelet saw them last, and then as ones that a taint removes.
[[nodiscard]] bool is_node_silent(const kube::Object& pod);

/// Of a Pod whose phase is Succeeded or Failed.
[[nodiscard]] PodEnd end_of(const kube::Object& pod);

/// What skiffd has written down as it ended; nothing for any other text. `why` is what it says.
struct LastWord {
  EndedBy by = EndedBy::unsaid;
  std::string why = {};
};
[[nodiscard]] std::optional<LastWord> last_word_in(std::string_view message);

/// Whether a lease was over when its Pod ended; both as RFC 3339.
[[nodiscard]] bool was_lease_over(std::string_view ended_at, const std::optional<std::string>& expires_at);

/// What an event about a Pod that is gone says of its end; nothing for one that says nothing of it.
[[nodiscard]] std::optional<PodEnd> end_in_event(std::string_view reason, std::string_view message);

}  // namespace skiff::container
