#include "container/drivers/claims/wait.hpp"

#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "base/async/with_timeout.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/kube/watch.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using kube::WatchEvent;

/// The result of two watchers: the first one with a result ends the other.
struct Finding {
  std::optional<Result<Object>> outcome;
  TaskGroup* watchers = nullptr;

  void settle(Result<Object> result) {
    if (outcome) return;
    outcome = std::move(result);
    watchers->cancel();
  }
};

kube::WatchOptions only(kube::Resource resource, const Object& object, std::string name, std::string version) {
  return {.resource = resource,
          .namespace_name = object.namespace_name(),
          .field_selector = "metadata.name=" + std::move(name),
          .resource_version = std::move(version)};
}

/// True if the condition describes an earlier state of the spec. A claim's condition is a copy of its Sandbox's, so its
/// generation cannot be compared.
bool is_outdated(const Object& object, std::int64_t generation) {
  if (is_claim(object)) return false;
  const nlohmann::json* conditions = object.find({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return true;
  for (const nlohmann::json& one : *conditions) {
    if (one.value("type", "") == "Ready") return one.value("observedGeneration", generation) < generation;
  }
  return true;
}

Error removed_meanwhile(const Object& object) {
  return bring_up_failure(FailureReason::exited,
                          object.text({"kind"}) + " " + object.name() + " was removed while skiff waited for it");
}

/// The result of the wait, if the object shows one. `generation`: that of the spec that is waited for.
std::optional<Result<Object>> outcome_in(const Object& now, std::int64_t generation) {
  if (is_outdated(now, generation)) return std::nullopt;
  const ClaimVerdict verdict = judge_claim(now);
  const bool has_sandbox = !is_claim(now) || !sandbox_name(now).empty();
  if (verdict.state == SandboxState::running && has_sandbox) return now;
  if (verdict.rejected) {
    const bool is_quota = verdict.reason.contains("exceeded quota");
    return std::unexpected{bring_up_failure(is_quota ? FailureReason::quota : FailureReason::admission,
                                            "agent-sandbox refuses it: " + verdict.reason)};
  }
  const bool is_over = verdict.state == SandboxState::ended || verdict.state == SandboxState::failed;
  if (is_over) return std::unexpected{bring_up_failure(FailureReason::exited, verdict.reason)};
  return std::nullopt;
}

std::int64_t generation_of(const Object& object) {
  return object.integer({"metadata", "generation"}).value_or(0);
}

/// `object` shows no outcome.
Task<> watch_object(kube::Client* client, kube::Resource resource, Object object, Finding* finding) {
  kube::Watch watch{client, only(resource, object, object.name(), object.resource_version())};
  for (;;) {
    auto event = co_await watch.next();
    if (!event) co_return finding->settle(std::unexpected{std::move(event.error())});
    const bool is_gone = (*event).kind == WatchEvent::Kind::deleted || event->objects.empty() ||
                         event->objects.front().uid() != object.uid();
    if (is_gone) co_return finding->settle(std::unexpected{removed_meanwhile(object)});
    auto outcome = outcome_in(event->objects.front(), generation_of(object));
    if (outcome) co_return finding->settle(std::move(*outcome));
  }
}

/// Watches the Pod of a new Sandbox, which has the Sandbox's name; the Sandbox of a claim has the claim's name unless
/// it comes from a pool. A Pod from a pool is ready already. Without the right to read Pods, watching the object is
/// enough.
Task<> watch_pod(kube::Client* client, Object object, SteadyTime deadline, Progress progress, Finding* finding) {
  PodWait wait{.namespace_name = object.namespace_name(), .name = object.name(), .now = {}, .deadline = deadline};
  const Executor executor = co_await boost::asio::this_coro::executor;
  kube::SharedWatch watch{client, executor, only(kube::kPods, object, object.name(), {})};
  auto news = co_await watch.follow(wait.name);
  if (!news) co_return;
  auto found = co_await client->get(kube::kPods, wait.namespace_name, wait.name);
  if (found) wait.now = std::move(*found);
  while (!wait.now || wait.now->is_being_deleted()) {
    auto told = co_await news->next();
    if (!told) co_return;
    wait.now = std::move(*told);
  }
  auto ready = co_await wait_until_ready(client, &*news, std::move(wait), std::move(progress));
  if (!ready) finding->settle(std::move(ready));
}

}  // namespace

Task<Result<Object>> wait_for_claim(kube::Client* client, kube::Resource resource, Object object, SteadyTime deadline,
                                    Progress progress) {
  progress(Phase::scheduling, "");
  // An object that is as it is wanted may never change, and a watcher cannot end before all of them have begun.
  if (auto outcome = outcome_in(object, generation_of(object))) co_return std::move(*outcome);
  TaskGroup watchers{co_await boost::asio::this_coro::executor};
  Finding finding{.outcome = {}, .watchers = &watchers};
  auto watch = [&](this auto) -> Task<> {
    watchers.spawn("watch the claim", watch_object(client, resource, object, &finding));
    watchers.spawn("watch its pod", watch_pod(client, object, deadline, progress, &finding));
    auto joined = [](TaskGroup* group) -> Task<bool> {
      co_await group->join();
      co_return true;
    }(&watchers);
    (void)co_await within(deadline, std::move(joined));
  };
  co_await finally(std::move(watch), [&] { return end_tasks(&watchers); });
  if (finding.outcome) co_return std::move(*finding.outcome);
  co_return std::unexpected{bring_up_failure(
      FailureReason::not_ready,
      object.text({"kind"}) + " " + object.name() +
          " is not ready in time: `--wait` allows more time; is the agent-sandbox controller running?")};
}

}  // namespace skiff::container
