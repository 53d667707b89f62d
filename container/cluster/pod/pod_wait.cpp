#include "container/cluster/pod/pod_wait.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/with_timeout.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/kube/pod_log.hpp"
#include "container/kube/watch.hpp"

namespace skiff::container {
namespace {

using kube::ContainerState;
using std::chrono::steady_clock;

constexpr std::uint64_t kLogLines = 10;
constexpr std::uint64_t kLogBytes = 4096;
constexpr std::chrono::seconds kLogPatience{3};

/// Messages of a failed pull after which waiting is useless: the registry or image does not exist, or refuses us.
constexpr std::array<std::string_view, 8> kHopeless{
    "dial tcp: lookup", "not found",     "no such host", "unauthorized",
    "denied",           "403 Forbidden", "401 ",         "invalid reference"};

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
  // The kubelet reports this before the first retry, too; later it reports ImagePullBackOff.
  if (state.reason == "ErrImagePull") {
    PodVerdict verdict = failure(FailureReason::image_pull, with(state.reason, state.message), false);
    verdict.is_hopeless = std::ranges::any_of(kHopeless, [&](auto words) { return state.message.contains(words); });
    return verdict;
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

/// True if the kubelet starts the ended container again (Pod.spec.restartPolicy).
bool is_started_again(const kube::Object& pod, const ContainerState& state) {
  const std::string policy = pod.text({"spec", "restartPolicy"});
  return !state.is_init && (policy == "Always" || (policy == "OnFailure" && state.exit_code != 0));
}

std::optional<PodVerdict> judge_terminated(const ContainerState& state, bool is_again) {
  const bool is_done = state.is_init && state.exit_code == 0;
  if (is_done) return std::nullopt;
  // The first end may be an accident; the second one is a loop.
  if (is_again && state.restarts == 0) return PodVerdict{.phase = Phase::starting, .detail = "ended, and starts again"};
  if (state.reason == "OOMKilled") return failure(FailureReason::out_of_memory, "the kernel ended it: OOMKilled");
  std::string why = (state.is_init ? "bringing skiffd into it" : "its main process") + std::string{" ended"};
  if (state.exit_code) why += " with status " + std::to_string(*state.exit_code);
  if (state.reason == "StartError" || state.reason == "ContainerCannotRun") why = state.reason;
  if (is_again) why += ", again and again";
  const auto word = last_word_in(state.message);
  return failure(is_again ? FailureReason::crash_loop : FailureReason::exited,
                 with(std::move(why), word ? word->why : state.message));
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

/// The reason why the Pod is waiting now.
std::string detail_of(const std::vector<ContainerState>& states) {
  for (const ContainerState& one : states) {
    if (one.kind == ContainerState::Kind::waiting && !one.reason.empty()) return one.reason;
  }
  return {};
}

/// The newest warning about an object that `field` of the events' involvedObject selects: "uid=...".
Task<std::string> last_warning(kube::Client* client, std::string namespace_name, std::string field) {
  kube::ListOptions warnings{.field_selector = "involvedObject." + field + ",type=Warning"};
  auto events = co_await client->list(kube::kEvents, std::move(namespace_name), std::move(warnings));
  if (!events || events->items.empty()) co_return std::string{};
  const auto newest = std::ranges::max_element(events->items, {}, [](const kube::Object& event) {
    return event.text({"lastTimestamp"}) + event.text({"eventTime"});
  });
  co_return "; the last event is " + newest->text({"reason"}) + ": " + newest->text({"message"});
}

/// The last lines of the log of the container that ended, or the newest warning about the Pod, as an explanation.
Task<std::string> last_words(kube::Client* client, kube::Object pod) {
  const std::string namespace_name = pod.namespace_name();
  const std::string name = pod.name();
  for (const ContainerState& one : kube::container_states(pod)) {
    if (one.kind != ContainerState::Kind::terminated && one.last_reason.empty()) continue;
    if (one.is_init && one.exit_code == 0) continue;
    if (!one.message.empty()) co_return std::string{};  // it contains the end of the log already
    kube::LogOptions options{.container = one.name,
                             .previous = one.kind != ContainerState::Kind::terminated,
                             .tail_lines = kLogLines,
                             .limit_bytes = kLogBytes};
    // A lost node does not answer, and the API server waits for it.
    auto answered = co_await within(steady_clock::now() + kLogPatience,
                                    kube::read_log(client, namespace_name, name, std::move(options)));
    if (!answered) break;
    auto& log = *answered;
    if (log && !log->empty()) co_return "; its log ends with:\n" + *log;
  }
  co_return co_await last_warning(client, namespace_name, "uid=" + pod.uid());
}

/// The message of cluster-autoscaler or Karpenter that it adds a node for the Pod; empty if neither does.
Task<std::string> room_being_made(kube::Client* client, kube::Object pod) {
  for (const std::string_view reason : {"TriggeredScaleUp", "Nominated"}) {
    kube::ListOptions about{.field_selector = "involvedObject.uid=" + pod.uid() + ",reason=" + std::string{reason}};
    auto events = co_await client->list(kube::kEvents, pod.namespace_name(), std::move(about));
    if (!events || events->items.empty()) continue;
    co_return "; the cluster is adding a node for it (" + std::string{reason} + "): `--wait` gives more time";
  }
  co_return std::string{};
}

Task<Error> explain(kube::Client* client, const PodWait* wait, kube::Object pod, PodVerdict verdict) {
  std::string message = "sandbox pod " + wait->namespace_name + "/" + wait->name + ": " + verdict.detail;
  const FailureReason reason = verdict.failure.value_or(FailureReason::not_ready);
  std::string room;
  if (reason == FailureReason::unschedulable) room = co_await room_being_made(client, pod);
  if (!room.empty()) {
    message += room;
  } else if (reason != FailureReason::image_pull) {  // the kubelet's message about an image is complete
    message += co_await last_words(client, std::move(pod));
  }
  if (!wait->agent_image.empty() && reason == FailureReason::image_pull && message.contains(wait->agent_image)) {
    message +=
        "; --agent-image names the image that contains skiffd: push it to a registry that the cluster can pull from";
  }
  co_return bring_up_failure(reason, std::move(message));
}

Error deleted_meanwhile(const PodWait& wait) {
  return bring_up_failure(FailureReason::exited,
                          "sandbox pod " + wait.namespace_name + "/" + wait.name + " was deleted meanwhile");
}

/// Reads the object; empty if it does not exist.
Task<kube::Outcome<std::optional<kube::Object>>> look(kube::Client* client, kube::Resource resource,
                                                      std::string namespace_name, std::string name) {
  auto found = co_await client->get(resource, std::move(namespace_name), std::move(name));
  if (found) co_return std::move(*found);
  if (found.error().not_found()) co_return std::nullopt;
  co_return std::unexpected{std::move(found.error())};
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
      if (auto verdict = judge_terminated(one, is_started_again(pod, one))) return *verdict;
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

Task<Result<kube::Object>> wait_until_ready(kube::Client* client, kube::SharedWatch::Reader* news, PodWait wait,
                                            Progress progress) {
  std::optional<kube::Object> pod = std::move(wait.now);
  std::string uid = pod ? pod->uid() : std::string{};
  PodVerdict verdict;  // the verdict on a new Pod: scheduling, without details
  bool is_unread = pod.has_value();
  bool is_uncertain = !pod;
  std::optional<SteadyTime> hopeless_since;
  for (;;) {
    if (is_uncertain) {
      SKIFF_CO_TRY(auto now, co_await look(client, kube::kPods, wait.namespace_name, wait.name));
      const bool is_another = now && !uid.empty() && (now)->uid() != uid;
      if (is_another || (!now && !uid.empty())) co_return std::unexpected{deleted_meanwhile(wait)};
      pod = std::move(now);
      is_unread = pod.has_value();
    }
    if (!is_unread) {
      const SteadyTime until =
          hopeless_since ? std::min(wait.deadline, *hopeless_since + wait.hopeless_patience) : wait.deadline;
      auto told = co_await within(until, news->next());
      if (!told) {
        // The wait ended with a condition that might have passed (a new node, a slow volume): report it as the reason.
        if (!verdict.failure) {
          verdict.detail =
              with("it is not ready in time, but " + std::string{phase_word(verdict.phase)}, verdict.detail);
        }
        co_return std::unexpected{co_await explain(client, &wait, pod.value_or(kube::Object{}), std::move(verdict))};
      }
      if (!*told) co_return std::unexpected{std::move(told->error())};
      // The Pod is gone, or a watch that began again does not show it yet: read it.
      is_uncertain = !(*told)->has_value();
      if (is_uncertain) continue;
      pod = std::move(**told);
      if (!uid.empty() && pod->uid() != uid) co_return std::unexpected{deleted_meanwhile(wait)};
    }
    is_unread = is_uncertain = false;
    if (uid.empty()) uid = pod->uid();
    const PodVerdict before = std::exchange(verdict, judge_pod(*pod));
    if (verdict.phase == Phase::ready) co_return std::move(*pod);
    if (verdict.is_hopeless && !hopeless_since) hopeless_since = steady_clock::now();
    if (!verdict.failure) hopeless_since.reset();
    if (verdict.phase != before.phase || verdict.detail != before.detail) progress(verdict.phase, verdict.detail);
    if (verdict.failure && verdict.is_final) {
      co_return std::unexpected{co_await explain(client, &wait, std::move(*pod), std::move(verdict))};
    }
  }
}

namespace {

bool has_gone(const std::optional<kube::Object>& now, const GoneWait& wait) {
  return !now || (!wait.uid.empty() && now->uid() != wait.uid);
}

/// The newest object from an event of a watch of one name.
std::optional<kube::Object> newest_of(kube::WatchEvent event) {
  if (event.kind == kube::WatchEvent::Kind::deleted || event.objects.empty()) return std::nullopt;
  return std::move(event.objects.front());
}

Task<kube::Outcome<std::optional<kube::Object>>> next_of(kube::Watch* watch) {
  SKIFF_CO_TRY(auto event, co_await watch->next());
  co_return newest_of(std::move(event));
}

}  // namespace

Task<Result<kube::Object>> wait_for_address(kube::Client* client, std::string namespace_name, std::string service,
                                            SteadyTime deadline) {
  const std::string what = "service " + namespace_name + "/" + service;
  kube::Watch watch{
      client,
      {.resource = kube::kServices, .namespace_name = namespace_name, .field_selector = "metadata.name=" + service}};
  for (;;) {
    auto told = co_await within(deadline, next_of(&watch));
    if (!told) break;
    if (!*told) co_return std::unexpected{std::move(told->error())};
    if (!(*told)->has_value()) {
      co_return std::unexpected{bring_up_failure(FailureReason::exited, what + " was deleted meanwhile")};
    }
    if (!kube::load_balancer_addresses(***told).empty()) co_return std::move(***told);
  }
  std::string message = what + " has no external address in time";
  message += co_await last_warning(client, std::move(namespace_name), "name=" + service);
  co_return std::unexpected{bring_up_failure(FailureReason::not_ready, std::move(message))};
}

Task<Result<>> wait_until_gone(kube::Client* client, GoneWait wait, kube::SharedWatch::Reader* news) {
  const SteadyTime until = steady_clock::now() + wait.limit;
  if (wait.version.empty()) {
    SKIFF_CO_TRY(auto now, co_await look(client, wait.resource, wait.namespace_name, wait.name));
    if (has_gone(now, wait)) co_return Result<>{};
    wait.version = (now)->resource_version();
  }
  kube::Watch own{client,
                  {.resource = wait.resource,
                   .namespace_name = wait.namespace_name,
                   .field_selector = "metadata.name=" + wait.name,
                   .resource_version = wait.version,
                   .metadata_only = true}};
  for (;;) {
    auto told = co_await within(until, news != nullptr ? news->next() : next_of(&own));
    if (!told) break;
    if (!*told) co_return std::unexpected{std::move(told->error())};
    if (has_gone(**told, wait)) co_return Result<>{};
  }
  std::string message{wait.resource.plural};
  message.append(" ").append(wait.namespace_name).append("/").append(wait.name);
  message.append(" was deleted, but is still there after ");
  message.append(std::to_string(wait.limit.count() / 1000)).append(" s");
  if (wait.resource.plural == kube::kPods.plural)
    message += "; if its node is lost, use `skiff rm --force` or `skiff stop --force`";
  co_return fail(Errc::timeout, std::move(message));
}

}  // namespace skiff::container
