#include "container/launcher/pod_wait.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/within.hpp"
#include "container/kube/pod.hpp"
#include "container/kube/pod_log.hpp"
#include "container/kube/watch.hpp"

namespace skiff::container {
namespace {

using kube::ContainerState;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long a state must stay that may pass: a scheduler that looks again when a pod has gone, an autoscaler.
constexpr milliseconds kPatience{5'000};
constexpr std::uint64_t kLogLines = 10;
constexpr std::uint64_t kLogBytes = 4096;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string with(std::string text, const std::string& more) {
  if (!more.empty()) text.append(": ").append(more);
  return text;
}

PodVerdict failure(FailureReason reason, std::string why, bool is_final = true) {
  return {.phase = Phase::starting, .detail = std::move(why), .failure = reason, .is_final = is_final};
}

std::optional<PodVerdict> judge_waiting(const ContainerState& state) {
  if (is_one_of(state.reason, {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})) {
    return failure(FailureReason::image_pull, with(state.reason, state.message));
  }
  // Said before the first retry too; the next look at it calls it ImagePullBackOff.
  if (state.reason == "ErrImagePull") {
    return failure(FailureReason::image_pull, with(state.reason, state.message), false);
  }
  if (state.reason == "CrashLoopBackOff") {
    if (state.last_reason == "OOMKilled") return failure(FailureReason::out_of_memory, "OOMKilled, again and again");
    return failure(FailureReason::crash_loop, with(state.reason, state.message));
  }
  if (is_one_of(state.reason, {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})) {
    return failure(FailureReason::admission, with(state.reason, state.message));
  }
  return std::nullopt;
}

std::optional<PodVerdict> judge_terminated(const ContainerState& state) {
  const bool is_done = state.is_init && state.exit_code == 0;
  if (is_done) return std::nullopt;
  if (state.reason == "OOMKilled") return failure(FailureReason::out_of_memory, "the kernel ended it: OOMKilled");
  std::string why = (state.is_init ? "bringing skiffd into it" : "its main process") + std::string{" ended"};
  if (state.exit_code) why += " with status " + std::to_string(*state.exit_code);
  if (state.reason == "StartError" || state.reason == "ContainerCannotRun") why = state.reason;
  return failure(FailureReason::exited, with(std::move(why), state.message));
}

std::optional<PodVerdict> judge_phase(const kube::Object& pod) {
  const std::string phase = kube::pod_phase(pod);
  const std::string reason = pod.text({"status", "reason"});
  const std::string message = pod.text({"status", "message"});
  if (pod.is_being_deleted()) return failure(FailureReason::exited, "its pod is being deleted");
  if (phase == "Failed" && !reason.empty()) return failure(FailureReason::exited, with(reason, message));
  if (phase == "Failed") return failure(FailureReason::exited, with("its pod failed", message));
  if (phase == "Succeeded") return failure(FailureReason::exited, "its main process ended before it answered");
  return std::nullopt;
}

Phase phase_of(const std::vector<ContainerState>& states) {
  const bool begun = std::ranges::any_of(
      states, [](const ContainerState& one) { return !one.is_init && one.kind == ContainerState::Kind::running; });
  return begun ? Phase::starting : Phase::pulling;
}

/// What holds the pod up just now.
std::string detail_of(const std::vector<ContainerState>& states) {
  for (const ContainerState& one : states) {
    if (one.kind == ContainerState::Kind::waiting && !one.reason.empty()) return one.reason;
  }
  return {};
}

/// The last lines of the container that ended, or the newest warning about the pod: why it is as it is.
Task<std::string> last_words(kube::Client* client, kube::Object pod) {
  const std::string namespace_name = pod.namespace_name();
  const std::string name = pod.name();
  for (const ContainerState& one : kube::container_states(pod)) {
    if (one.kind != ContainerState::Kind::terminated && one.last_reason.empty()) continue;
    if (one.is_init && one.exit_code == 0) continue;
    if (!one.message.empty()) co_return std::string{};  // the kubelet has put the log's end there
    kube::LogOptions options{.container = one.name,
                             .previous = one.kind != ContainerState::Kind::terminated,
                             .tail_lines = kLogLines,
                             .limit_bytes = kLogBytes};
    auto log = co_await kube::read_log(client, namespace_name, name, std::move(options));
    if (log && !log->empty()) co_return "; its log ends with:\n" + *log;
  }
  kube::ListOptions about{.field_selector = "involvedObject.uid=" + pod.uid() + ",type=Warning"};
  auto events = co_await client->list(kube::kEvents, namespace_name, std::move(about));
  if (!events || events->items.empty()) co_return std::string{};
  const auto newest = std::ranges::max_element(events->items, {}, [](const kube::Object& event) {
    return event.text({"lastTimestamp"}) + event.text({"eventTime"});
  });
  co_return "; the last event is " + newest->text({"reason"}) + ": " + newest->text({"message"});
}

/// An autoscaler has seen it and makes room.
Task<bool> is_room_being_made(kube::Client* client, kube::Object pod) {
  kube::ListOptions about{.field_selector = "involvedObject.uid=" + pod.uid() + ",reason=TriggeredScaleUp"};
  auto events = co_await client->list(kube::kEvents, pod.namespace_name(), std::move(about));
  co_return events && !events->items.empty();
}

Task<Error> explain(kube::Client* client, const PodWait* wait, kube::Object pod, PodVerdict verdict) {
  std::string message = "sandbox pod " + wait->namespace_name + "/" + wait->name + ": " + verdict.detail;
  const FailureReason reason = verdict.failure.value_or(FailureReason::not_ready);
  // Of an image the kubelet says all there is.
  if (reason != FailureReason::image_pull) message += co_await last_words(client, std::move(pod));
  if (!wait->agent_image.empty() && reason == FailureReason::image_pull && message.contains(wait->agent_image)) {
    message += "; --agent-image names the image that skiffd comes from: push it where the cluster can pull it";
  }
  co_return bring_up_failure(reason, std::move(message));
}

/// The newest state of the pod in an event; nothing for one that is gone.
std::optional<kube::Object> newest(kube::WatchEvent event, const PodWait& wait) {
  if (event.kind == kube::WatchEvent::Kind::deleted) return std::nullopt;
  for (kube::Object& object : event.objects) {
    if (object.name() == wait.name && (wait.uid.empty() || object.uid() == wait.uid)) return std::move(object);
  }
  return std::nullopt;
}

}  // namespace

PodVerdict judge_pod(const kube::Object& pod) {
  if (kube::is_pod_ready(pod)) return {.phase = Phase::ready};
  const std::vector<ContainerState> states = kube::container_states(pod);
  for (const ContainerState& one : states) {
    if (one.kind == ContainerState::Kind::waiting) {
      if (auto verdict = judge_waiting(one)) return *verdict;
    }
    if (one.kind == ContainerState::Kind::terminated) {
      if (auto verdict = judge_terminated(one)) return *verdict;
    }
  }
  if (auto verdict = judge_phase(pod)) return *verdict;
  const auto scheduled = pod.condition("PodScheduled");
  if (scheduled && scheduled->status == "False") {
    if (scheduled->reason != "Unschedulable") return {.phase = Phase::scheduling, .detail = scheduled->reason};
    PodVerdict verdict = failure(FailureReason::unschedulable, with("no node takes it", scheduled->message), false);
    verdict.phase = Phase::scheduling;
    return verdict;
  }
  if (!scheduled || scheduled->status != "True") return {.phase = Phase::scheduling};
  return {.phase = phase_of(states), .detail = detail_of(states)};
}

Task<Result<kube::Object>> wait_until_ready(kube::Client* client, PodWait wait, Progress progress) {
  kube::Watch watch{client,
                    {.resource = kube::kPods,
                     .namespace_name = wait.namespace_name,
                     .field_selector = "metadata.name=" + wait.name,
                     .resource_version = wait.resource_version}};
  std::optional<kube::Object> pod;
  PodVerdict verdict;  // of a Pod that was just made: scheduling, and nothing more to say
  SteadyTime failing_since = SteadyTime::max();
  for (;;) {
    const bool is_passing = verdict.failure.has_value();
    const SteadyTime until = is_passing ? std::min(wait.deadline, failing_since + kPatience) : wait.deadline;
    auto event = co_await within(until, watch.next());
    if (!event) {
      const bool is_late = steady_clock::now() >= wait.deadline;
      if (!is_late && verdict.failure == FailureReason::unschedulable) {
        kube::Object waiting = *pod;
        const bool coming = co_await is_room_being_made(client, std::move(waiting));
        if (coming) {
          failing_since = steady_clock::now();
          continue;
        }
      }
      if (!is_passing)
        verdict.detail = with("it is not ready in time, but " + std::string{phase_word(verdict.phase)}, verdict.detail);
      co_return std::unexpected{co_await explain(client, &wait, pod.value_or(kube::Object{}), std::move(verdict))};
    }
    if (!*event) co_return std::unexpected{std::move(event->error().error)};
    const bool was_deleted = (**event).kind == kube::WatchEvent::Kind::deleted;
    pod = newest(std::move(**event), wait);
    if (!pod && wait.uid.empty() && !was_deleted) continue;  // not made yet
    if (!pod) {
      co_return std::unexpected{bring_up_failure(
          FailureReason::exited, "sandbox pod " + wait.namespace_name + "/" + wait.name + " was deleted meanwhile")};
    }
    const bool was_passing = is_passing;
    const PodVerdict before = std::exchange(verdict, judge_pod(*pod));
    if (verdict.phase == Phase::ready) co_return std::move(*pod);
    if (verdict.phase != before.phase || verdict.detail != before.detail) progress(verdict.phase, verdict.detail);
    if (!verdict.failure) {
      failing_since = SteadyTime::max();
    } else if (verdict.is_final) {
      co_return std::unexpected{co_await explain(client, &wait, std::move(*pod), std::move(verdict))};
    } else if (!was_passing) {
      failing_since = steady_clock::now();
    }
  }
}

Task<Result<>> wait_until_gone(kube::Client* client, kube::Resource resource, std::string namespace_name,
                               std::string name, std::string uid, milliseconds limit) {
  const SteadyTime until = steady_clock::now() + limit;
  auto now = co_await client->get(resource, namespace_name, name);
  if (!now && now.error().not_found()) co_return Result<>{};
  if (!now) co_return std::unexpected{std::move(now.error().error)};
  if (!uid.empty() && now->uid() != uid) co_return Result<>{};
  kube::Watch watch{client,
                    {.resource = resource,
                     .namespace_name = namespace_name,
                     .field_selector = "metadata.name=" + name,
                     .resource_version = now->resource_version()}};
  for (;;) {
    auto event = co_await within(until, watch.next());
    if (!event) {
      std::string message{resource.plural};
      message.append(" ").append(namespace_name).append("/").append(name);
      message.append(" was deleted, but is still there after ");
      message.append(std::to_string(limit.count() / 1000)).append(" s");
      co_return fail(Errc::timeout, std::move(message));
    }
    if (!*event) co_return std::unexpected{std::move(event->error().error)};
    const bool there = (*event)->kind != kube::WatchEvent::Kind::deleted &&
                       std::ranges::any_of((*event)->objects, [&](const kube::Object& object) {
                         return object.name() == name && (uid.empty() || object.uid() == uid);
                       });
    if (!there) co_return Result<>{};
  }
}

}  // namespace skiff::container
