#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/create.hpp"
#include "container/drivers/pods/driver.hpp"
#include "container/drivers/pods/remove.hpp"
#include "container/sandbox/undo_unless.hpp"

/// Starts a sandbox that does not run again from its record.
namespace skiff::container {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Most reads of a record that others change at the same time.
constexpr int kMostStarts = 20;
/// A sandbox from a pool has a Pod this long after its record was made, or the process that creates it was killed.
constexpr std::chrono::seconds kBeingTaken{20};
/// Pause between two looks for that Pod, of which no watch by a name tells.
constexpr milliseconds kBeforeNextLook{500};

}  // namespace

Task<Result<Sandbox>> PodDriver::start(std::string name, milliseconds wait, Progress progress) {
  const SteadyTime deadline = steady_clock::now() + wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  const std::string mark = new_id("c");
  for (int tries = 0; tries < kMostStarts; ++tries) {
    SKIFF_CO_TRY(auto known, co_await answered_by(deadline, find_sandbox(cluster_, name)));
    const Sandbox now = describe_known(known);
    if (now.state == SandboxState::running) co_return now;
    if (known.damage) co_return std::unexpected{std::move(*known.damage)};
    if (!known.record) {
      co_return fail(Errc::invalid_field, "\"" + name + "\" belonged to `skiff run` and cannot be started again",
                     "name");
    }
    bool is_left_alone = false;
    if (now.state == SandboxState::creating && is_being_taken(known)) {
      SKIFF_CO_TRY(auto adopted, co_await answered_by(deadline, adopt(known)));
      if (adopted) {
        SKIFF_CO_TRY(auto up, co_await wait_until_up(std::move(*adopted), deadline, std::move(progress)));
        co_return describe_known(up);
      }
      const auto made = known.config_map->created();
      is_left_alone = made && known.seen_at - *made >= kBeingTaken;
      if (!is_left_alone && steady_clock::now() < deadline) {
        co_await pause(kBeforeNextLook);
        --tries;
        continue;
      }
    }
    // If an answer was lost, the record's mark is that of this call.
    if (now.state == SandboxState::creating && known.record->start != mark && !is_left_alone) {
      co_return co_await answered_by(deadline, wait_for_others(std::move(known), deadline, std::move(progress)));
    }
    const std::string uid = known.config_map->uid();
    auto work = create_again(std::move(known), mark, deadline, progress);
    // Undo it by stopping the sandbox again.
    auto up = co_await undo_unless(
        std::move(work), [&](milliseconds patience) { return stop_again(name, uid, mark, patience); }, kLateArrival,
        deadline + kHostPatience);
    if (!up) co_return std::unexpected{std::move(up.error())};
    if (*up) co_return describe_known(**up);
  }
  co_return fail(Errc::sandbox_conflict, "sandbox \"" + name + "\" is being changed by others repeatedly; try again",
                 "name");
}

Task<Result<std::optional<KnownPod>>> PodDriver::adopt(KnownPod known) {
  const PodRecord& record = *known.record;
  std::string selector{labels::selector("sandbox", {})};
  selector.append(",").append(labels::kName).append("=").append(labels::label_value(record.spec.name));
  SKIFF_CO_TRY(auto listed, co_await cluster_->client().list(kube::kPods, record.namespace_name,
                                                             {.label_selector = std::move(selector)}));
  const auto pod = std::ranges::find_if(listed.items, [&](const kube::Object& one) {
    return was_taken_for(one, record.spec, known.config_map) && !one.is_being_deleted();
  });
  if (pod == listed.items.end()) co_return std::nullopt;
  SKIFF_CO_TRY(auto finished, co_await finish_taken(cluster_, &pools_, record, *known.config_map, std::move(*pod)));
  co_return std::optional{std::move(finished)};
}

Task<Result<KnownPod>> PodDriver::note_taken(KnownPod known, SteadyTime deadline, Progress progress) {
  const auto expires_at = lease_end_text(known.record->spec.lease);
  SKIFF_CO_TRY(const bool is_noted, co_await note_up_as_seen(cluster_, &known, expires_at));
  if (is_noted) co_return known;
  const std::string name = known.record->spec.name;
  SKIFF_CO_TRY(auto now, co_await find_sandbox(cluster_, name));
  const bool is_his = now.config_map && now.config_map->uid() == known.config_map->uid() && now.record;
  if (!is_his) co_return std::unexpected{no_such_sandbox(name)};
  if (now.record->pod == known.record->pod) co_return now;
  if (!now.record->begun_at) {
    // Nothing but a label or the like was changed.
    SKIFF_CO_TRY_VOID(co_await note_up(cluster_, &known, expires_at));
    co_return known;
  }
  kube::RemoveOptions options{.uid = known.pod->uid()};
  if (!known.record->spec.has_egress()) options.grace_seconds = 0;
  (void)co_await cluster_->client().remove(kube::kPods, known.pod->namespace_name(), known.pod->name(),
                                           std::move(options));
  SKIFF_CO_TRY_VOID(co_await wait_for_others(std::move(now), deadline, std::move(progress)));
  co_return co_await find_sandbox(cluster_, name);
}

Task<Result<Sandbox>> PodDriver::wait_for_others(KnownPod known, SteadyTime deadline, Progress progress) {
  const PodRecord& record = *known.record;
  PodWait theirs{.namespace_name = record.namespace_name, .name = record.pod, .deadline = deadline};
  auto news = co_await cluster_->pods(record.namespace_name).follow(record.pod);
  if (!news) co_return std::unexpected{std::move(news.error())};
  SKIFF_CO_TRY(auto ready, co_await wait_until_ready(&cluster_->client(), &*news, std::move(theirs), progress));
  known.pod = std::move(ready);
  SKIFF_CO_TRY(auto up, co_await wait_until_up(std::move(known), deadline, std::move(progress)));
  co_return describe_known(up);
}

Task<Result<std::optional<KnownPod>>> PodDriver::create_again(KnownPod known, std::string mark, SteadyTime deadline,
                                                              Progress progress) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  const milliseconds wait = std::max(left, milliseconds{1});
  const PodRecord before = *known.record;
  // Find the old Pod, which has the name of the new one; a `stop` may not have waited for its end. Another `start`
  // creates its Pod after it has changed the record, so if this call is the first to change the record, the Pod is not
  // another `start`'s.
  SKIFF_CO_TRY(auto old, co_await find_pod(cluster_, before.namespace_name, before.pod, before.id));
  json data{
      {"stopped", "false"},     {"was_up", "false"}, {"begun_at", rfc3339(cluster_->client().transport().server_now())},
      {"pod_uid", nullptr},     {"node", nullptr},   {"started_at", nullptr},
      {"service_uid", nullptr}, {kSeal, nullptr}};
  data["start"] = std::move(mark);
  const std::string lost_with = loss_of(known);
  data["lost_with"] = lost_with.empty() ? json{} : json(lost_with);
  // A Pod from a pool cannot come back: the new Pod has the sandbox's own name.
  data["pod"] = known.config_map->name();
  const auto expires_at = lease_end_text(before.spec.lease, wait);
  data["expires_at"] = expires_at ? json(*expires_at) : json{};
  SKIFF_CO_TRY(auto changed, co_await change_record_as_seen(cluster_, &known, std::move(data)));
  if (!changed) co_return std::nullopt;
  SKIFF_CO_TRY(auto record, read_record(*changed));
  if (old) {
    GoneWait which{.resource = kube::kPods,
                   .namespace_name = before.namespace_name,
                   .name = before.pod,
                   .uid = old->uid(),
                   .limit = wait};
    SKIFF_CO_TRY_VOID(co_await remove_this(cluster_, std::move(which), {.patience = wait}));
  }
  // The time that is left after the old Pod is gone.
  record.spec.wait =
      std::max(std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()), milliseconds{1});
  ManifestContext context{
      .namespace_name = record.namespace_name, .prefix = cluster_->options().name_prefix, .sandbox_id = record.id};
  context.assigns_ids = co_await cluster_->assigns_ids();
  SKIFF_CO_TRY(auto ready, co_await create_pod_ready(cluster_, std::move(record), std::move(changed),
                                                     std::move(context), deadline, progress));
  SKIFF_CO_TRY(auto up, co_await wait_until_up(std::move(ready), deadline, std::move(progress)));
  // A `stop`, or another `start` that was interrupted before its Pod was visible, may have changed the record, which
  // decides.
  if (up.config_map->text({"data", "stopped"}) == "true") {
    co_return fail(Errc::sandbox_conflict, "sandbox \"" + up.record->spec.name + "\" was stopped while it was starting",
                   "name");
  }
  co_return std::optional{std::move(up)};
}

Task<Result<bool>> PodDriver::stop_again(std::string name, std::string uid, std::string mark, milliseconds patience) {
  auto known = co_await find_sandbox(cluster_, std::move(name));
  if (!known && known.error().code == Errc::sandbox_not_found) co_return true;
  if (!known) co_return std::unexpected{std::move(known.error())};
  // Another client may have removed the sandbox, and created another one.
  if (!known->config_map || known->config_map->uid() != uid || !known->record) co_return true;
  // Or another client has started it after this call: then the Pod is theirs, or they wait for this one.
  const PodRecord& record = *known->record;
  if (record.start != mark && !record.stopped) co_return true;
  SKIFF_CO_TRY(auto pod, co_await find_pod(cluster_, record.namespace_name, record.pod, record.id));
  if (pod && !is_marked(*pod, mark)) co_return true;
  const bool is_there = pod.has_value();
  known->pod = std::move(pod);
  const bool waits = patience.count() > 0;
  auto stopped = co_await stop_known(std::move(*known), {.wait = waits, .patience = patience});
  if (stopped) co_return waits || !is_there;
  if (stopped.error().code != Errc::timeout) co_return std::unexpected{std::move(stopped.error())};
  co_return false;
}

}  // namespace skiff::container
