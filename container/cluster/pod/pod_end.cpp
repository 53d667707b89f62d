#include "container/cluster/pod/pod_end.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/pod/pod_wait.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/net/time.hpp"

namespace skiff::container {
namespace {

using kube::ContainerState;

constexpr std::array<std::string_view, 12> kWords{"lease",         "workload",   "deadline",  "eviction",
                                                  "drain",         "preemption", "node_lost", "node_shutdown",
                                                  "out_of_memory", "signal",     "failure",   "unsaid"};

/// Exit statuses of processes that a signal has ended, as in a shell and in skiffd.
constexpr std::int64_t kHungUp = 129;
constexpr std::int64_t kInterrupted = 130;
constexpr std::int64_t kKilled = 137;
constexpr std::int64_t kTerminated = 143;

std::string said(std::string text, const std::string& more) {
  if (!more.empty()) text.append(": ").append(more);
  return text;
}

struct Told {
  std::string_view reason;
  EndedBy by;
  std::string_view why;
};

/// Reasons of the condition DisruptionTarget (KEP-3329).
constexpr std::array kDisruptions{
    Told{"EvictionByEvictionAPI", EndedBy::drain, "it was evicted, as a drain of its node does"},
    Told{"PreemptionByScheduler", EndedBy::preemption, "it was preempted by a Pod of higher priority"},
    Told{"DeletionByTaintManager", EndedBy::node_lost, "its node does not answer, or was tainted"},
    Told{"DeletionByPodGC", EndedBy::node_lost, "its node is gone"},
    Told{"TerminationByKubelet", EndedBy::eviction, "its node ended it"},
};

/// Reasons in a Pod's own status, from the kubelet and the controllers.
constexpr std::array kReasons{
    Told{"Evicted", EndedBy::eviction, "it was evicted by its node (Evicted)"},
    Told{"Terminated", EndedBy::node_shutdown, "its node was shut down (Terminated)"},
    Told{"NodeShutdown", EndedBy::node_shutdown, "its node was shut down (NodeShutdown)"},
    Told{"Shutdown", EndedBy::node_shutdown, "its node was shut down (Shutdown)"},
    Told{"NodeLost", EndedBy::node_lost, "its node does not answer (NodeLost)"},
    Told{"Preempting", EndedBy::preemption, "its node preempted it for a more critical Pod (Preempting)"},
    Told{"DeadlineExceeded", EndedBy::deadline, "the time of its pod was over (DeadlineExceeded)"},
};

/// Reasons of events about a Pod, which outlive it by an hour.
constexpr std::array kEventReasons{
    Told{"Evicted", EndedBy::eviction, "it was evicted by its node (Evicted)"},
    Told{"Preempted", EndedBy::preemption, "it was preempted by a Pod of higher priority"},
    Told{"TaintManagerEviction", EndedBy::node_lost, "its node does not answer, or was tainted (TaintManagerEviction)"},
    Told{"NodeNotReady", EndedBy::node_lost, "its node did not answer (NodeNotReady)"},
};

template <std::size_t N>
const Told* find_told(const std::array<Told, N>& table, std::string_view reason) {
  for (const Told& one : table) {
    if (one.reason == reason) return &one;
  }
  return nullptr;
}

/// The container that explains the end: one whose agent has left a last word, or else one that failed.
std::optional<ContainerState> container_that_ended(const kube::Object& pod) {
  std::optional<ContainerState> chosen;
  for (ContainerState& one : kube::container_states(pod)) {
    if (one.is_init || one.kind != ContainerState::Kind::terminated) continue;
    if (last_word_in(one.message)) return std::move(one);
    if (!chosen || (chosen->exit_code == 0 && one.exit_code != 0)) chosen = std::move(one);
  }
  return chosen;
}

PodEnd end_of_container(const kube::Object& pod, const ContainerState& container) {
  const std::string& at = container.finished_at;
  if (container.reason == "OOMKilled") {
    return {EndedBy::out_of_memory, "the kernel ended it: its container was over its memory limit (OOMKilled)", at};
  }
  const auto word = last_word_in(container.message);
  // An agent that was killed left no last word: a command has written this text.
  const bool is_its_word = word && (container.exit_code == 0 || !is_own_end(word->by));
  if (is_its_word) {
    const bool is_from_outside = word->by == EndedBy::signal;
    return {word->by, is_from_outside ? "it was ended from outside by " + word->why : word->why, at};
  }
  if (container.exit_code == 0) return {EndedBy::unsaid, "its main process ended, and nothing says why", at};
  if (container.exit_code == kTerminated) return {EndedBy::signal, "it was ended from outside by SIGTERM", at};
  if (container.exit_code == kInterrupted) return {EndedBy::signal, "it was ended from outside by SIGINT", at};
  if (container.exit_code == kHungUp) return {EndedBy::signal, "it was ended from outside by SIGHUP", at};
  if (container.reason == "ContainerStatusUnknown") {
    return {EndedBy::node_lost, "its node lost it (ContainerStatusUnknown)", at};
  }
  if (container.exit_code == kKilled)
    return {EndedBy::signal, "it was killed: its main process ended with status 137 (SIGKILL)", at};
  return {EndedBy::failure, judge_pod(pod).detail, at};
}

}  // namespace

std::string_view word_of(EndedBy by) noexcept {
  return kWords[static_cast<std::size_t>(by)];
}

bool is_own_end(EndedBy by) noexcept {
  return by == EndedBy::lease || by == EndedBy::workload;
}

std::optional<PodEnd> disruption_of(const kube::Object& pod) {
  const std::string reason = pod.text({"status", "reason"});
  const std::string message = pod.text({"status", "message"});
  if (const Told* told = find_told(kReasons, reason)) return PodEnd{told->by, said(std::string{told->why}, message)};
  const auto disruption = pod.condition("DisruptionTarget");
  if (disruption && disruption->status == "True") {
    const Told* told = find_told(kDisruptions, disruption->reason);
    if (told == nullptr)
      return PodEnd{EndedBy::eviction, said("the cluster ended it",
                                            disruption->message.empty() ? disruption->reason : disruption->message)};
    return PodEnd{told->by, said(std::string{told->why}, disruption->message)};
  }
  if (reason.empty()) return std::nullopt;
  return PodEnd{EndedBy::failure, said(reason, message)};
}

PodEnd end_of(const kube::Object& pod) {
  const auto container = container_that_ended(pod);
  PodEnd end{EndedBy::unsaid, "its pod ended, and nothing says why"};
  if (container) end = end_of_container(pod, *container);
  // The end of the lease counts, even if the node was drained at the same time.
  if (is_own_end(end.by)) return end;
  if (auto disruption = disruption_of(pod)) {
    disruption->ended_at = std::move(end.ended_at);
    return std::move(*disruption);
  }
  if (!container && kube::pod_phase(pod) == "Failed") return {EndedBy::failure, judge_pod(pod).detail};
  return end;
}

bool is_node_silent(const kube::Object& pod) {
  const auto disruption = pod.condition("DisruptionTarget");
  if (pod.text({"status", "reason"}) == "NodeLost") return true;
  if (pod.is_being_deleted()) return disruption && disruption->reason == "DeletionByTaintManager";
  const auto ready = pod.condition("Ready");
  const auto containers = pod.condition("ContainersReady");
  return ready && ready->status == "False" && ready->reason.empty() && containers && containers->status == "True";
}

std::optional<LastWord> last_word_in(std::string_view message) {
  const auto word = nlohmann::json::parse(message, nullptr, /*allow_exceptions=*/false);
  if (!word.is_object()) return std::nullopt;
  const auto by = word.find("ended_by");
  const auto why = word.find("why");
  if (by == word.end() || !by->is_string() || why == word.end() || !why->is_string()) return std::nullopt;
  LastWord found{.why = why->get<std::string>()};
  const std::string cause = by->get<std::string>();
  for (const EndedBy one : {EndedBy::lease, EndedBy::workload, EndedBy::signal, EndedBy::failure}) {
    if (word_of(one) == cause) found.by = one;
  }
  return found;
}

bool was_lease_over(std::string_view ended_at, const std::optional<std::string>& expires_at) {
  const auto ended = net::parse_time(ended_at);
  const auto lease_end = expires_at ? net::parse_time(*expires_at) : std::nullopt;
  return ended && lease_end && *ended >= *lease_end;
}

std::optional<PodEnd> end_in_event(std::string_view reason, std::string_view message) {
  const Told* told = find_told(kEventReasons, reason);
  // The taint controller uses the same reason when it cancels the eviction.
  if (told == nullptr || message.starts_with("Cancelling")) return std::nullopt;
  return PodEnd{told->by, said(std::string{told->why}, std::string{message})};
}

}  // namespace skiff::container
