#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// The way of a sandbox from nothing to an agent that answers. A driver may leave out what it does not have.
enum class Phase : std::uint8_t { scheduling, pulling, starting, ready };

/// Called from the reactor at each change, also with new details of the same phase. It must not block.
using Progress = std::function<void(Phase phase, std::string_view detail)>;

[[nodiscard]] std::string_view phase_word(Phase phase) noexcept;

/// Why a sandbox can't be brought up, told as soon as it is known that waiting longer is of no use.
enum class FailureReason : std::uint8_t {
  image_pull,     ///< the image can't be had
  unschedulable,  ///< no node takes it
  quota,          ///< the namespace may not have more
  admission,      ///< the cluster's policy refuses it
  crash_loop,     ///< the agent ends again and again
  out_of_memory,  ///< the kernel ended it
  exited,         ///< the agent ended before it answered
  no_agent,       ///< there is no skiffd to start
  not_ready,      ///< the time was over
};

[[nodiscard]] std::string_view reason_word(FailureReason reason) noexcept;

/// A `sandbox_failed` error (`quota_exceeded` for a quota), of which `failure_reason` gives the reason again.
[[nodiscard]] Error bring_up_failure(FailureReason reason, std::string message);
[[nodiscard]] std::optional<FailureReason> failure_reason(const Error& error) noexcept;

}  // namespace skiff::container
