#include "container/sandbox/progress.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skiff::container {
namespace {

// The words, in the order of the enums.
constexpr std::array<std::string_view, 4> kPhases{"scheduling", "pulling", "starting", "ready"};
constexpr std::array<std::string_view, 14> kReasons{
    "image_pull", "unschedulable", "quota",         "admission",  "crash_loop", "out_of_memory", "exited",
    "no_agent",   "not_ready",     "no_namespaces", "no_network", "no_overlay", "no_engine",     "engine"};

}  // namespace

std::string_view phase_word(Phase phase) noexcept {
  return kPhases[static_cast<std::size_t>(phase)];
}

std::string_view reason_word(FailureReason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)];
}

Error bring_up_failure(FailureReason reason, std::string message) {
  const Errc code = reason == FailureReason::quota ? Errc::quota_exceeded : Errc::sandbox_failed;
  return {code, std::move(message), std::string{reason_word(reason)}};
}

std::optional<FailureReason> failure_reason(const Error& error) noexcept {
  const auto* const word = std::ranges::find(kReasons, error.field);
  const bool is_one = error.code == Errc::sandbox_failed || error.code == Errc::quota_exceeded ||
                      error.code == Errc::cluster_unavailable;
  if (!is_one || word == kReasons.end()) return std::nullopt;
  return static_cast<FailureReason>(word - kReasons.begin());
}

}  // namespace skiff::container
