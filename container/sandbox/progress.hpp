#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// The phases of a sandbox's creation, until its agent answers. A driver may leave out phases that it does not have.
enum class Phase : std::uint8_t { scheduling, pulling, starting, ready };

/// Called on the reactor thread at each change, also with new details of the same phase. It must not block.
using Progress = std::function<void(Phase phase, std::string_view detail)>;

[[nodiscard]] std::string_view phase_word(Phase phase) noexcept;

/// Why a sandbox cannot be brought up; reported as soon as waiting longer is known to be useless.
enum class FailureReason : std::uint8_t {
  image_pull,     ///< the image cannot be pulled
  unschedulable,  ///< no node can run it
  quota,          ///< the namespace's quota is used up
  admission,      ///< the cluster's policy refuses it
  crash_loop,     ///< the agent ends again and again
  out_of_memory,  ///< the kernel killed it for lack of memory
  exited,         ///< the agent ended before it answered
  no_agent,       ///< no skiffd was found to start
  not_ready,      ///< the time was over
  no_namespaces,  ///< this machine lets skiff isolate nothing
  no_network,     ///< the sandbox cannot have the network that it was to have
  no_overlay,     ///< a directory of this machine cannot be mounted
  no_engine,      ///< no container engine answers
  engine,         ///< the container engine refuses
};

[[nodiscard]] std::string_view reason_word(FailureReason reason) noexcept;

/// A `sandbox_failed` error (`quota_exceeded` for a quota); `failure_reason` reads the reason from it.
[[nodiscard]] Error bring_up_failure(FailureReason reason, std::string message);
[[nodiscard]] std::optional<FailureReason> failure_reason(const Error& error) noexcept;

}  // namespace skiff::container
