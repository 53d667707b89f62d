#include "container/drivers/pods/pools.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "base/async/in_parallel.hpp"
#include "base/async/task_group.hpp"
#include "base/async/with_timeout.hpp"
#include "base/id.hpp"
#include "container/agent/client.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_error.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/create.hpp"
#include "container/drivers/pods/egress/egress.hpp"
#include "container/kube/watch.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using std::chrono::milliseconds;

/// Number of requests at the same time while Pods are created or removed.
constexpr std::size_t kPodsAtOnce = 16;
/// Most rounds; each follows a change by another client.
constexpr int kMostRounds = 20;
/// How long a pool waits for problems that may pass by themselves: a first pull that failed, no room yet.
constexpr milliseconds kTroublePatience{10'000};

/// How long `close` waits for the successors of taken Pods.
constexpr std::chrono::seconds kSuccessorPatience{10};

/// Field of a pool's record: what `Cluster::assigns_ids` said when the pool was created. Records of older releases have
/// none.
constexpr const char* kAssignsIds = "assigns_ids";

/// A random number for a successor: concurrent callers must not choose the same one. `fill` uses lower numbers.
unsigned successor_number() {
  constexpr std::uint32_t kSuccessors = 1'000'000'000;
  return kFirstSuccessor + random_number() % kSuccessors;
}

std::string waiting_selector(std::string_view pool) {
  return pool_selector(pool) + "," + std::string{labels::kPoolState} + "!=taken";
}

ManifestContext context_of(const Cluster& cluster) {
  ManifestContext context;
  context.namespace_name = cluster.namespace_name();
  context.prefix = cluster.options().name_prefix;
  return context;
}

std::unexpected<Error> no_templates() {
  return fail(Errc::invalid_field, "--template is for --driver claim", "--template");
}

}  // namespace

Task<Result<PodPools::View>> PodPools::find(std::string name, Cluster::Reading reading) {
  SKIFF_CO_TRY_VOID(check_pool_name(name));
  auto record = co_await cluster_->read(kube::kConfigMaps, cluster_->namespace_name(),
                                        pool_record_name(cluster_->options().name_prefix, name), reading);
  if (!record && record.error().not_found()) co_return std::unexpected{no_such_pool(name)};
  if (!record) co_return std::unexpected{std::move(record.error())};
  SKIFF_CO_TRY(auto pool, read_pool_record(*record));
  View view{.pool = std::move(pool), .record = std::move(*record)};
  if (const std::string noted = view.record.text({"data", kAssignsIds}); !noted.empty()) {
    view.assigns_ids = noted == "true";
  }
  co_return view;
}

Task<Result<PodPools::View>> PodPools::look(std::string name) {
  auto view = co_await find(name);
  if (!view) co_return view;
  kube::ListOptions options{.label_selector = pool_selector(name)};
  SKIFF_CO_TRY(auto pods,
               co_await cluster_->client().list(kube::kPods, cluster_->namespace_name(), std::move(options)));
  view->pods = std::move(pods.items);
  co_return view;
}

Task<Result<ManifestContext>> PodPools::member_context(std::optional<bool> assigns_ids) {
  ManifestContext context = context_of(*cluster_);
  context.assigns_ids = assigns_ids ? *assigns_ids : co_await cluster_->assigns_ids();
  SKIFF_CO_TRY(auto key, co_await cluster_->signing_key(true));
  SKIFF_CO_TRY(auto pem, key.public_pem());
  context.public_key = std::move(pem);
  co_return context;
}

Task<> PodPools::create_successor(std::string name, std::optional<std::size_t> left) {
  // A take has read the pool and the keys, and it is not to compete with this.
  while (takes_ > 0) co_await quiet_.wait();
  const auto seen = views_.find(name);
  Result<View> view = View{};
  if (seen != views_.end()) {
    view = seen->second;
  } else {
    view = co_await find(name);
  }
  if (!view || view->pool.size == 0 || (left && *left >= view->pool.size)) co_return;
  auto context = co_await member_context(view->assigns_ids);
  if (!context) co_return;
  auto made = co_await add_member(&*view, std::move(*context), successor_number());
  if (!made) note_filling(name, std::move(made.error().message));
}

Task<> PodPools::close() {
  if (turns_) turns_->hurry();
  auto joined = [](TaskGroup* group) -> Task<bool> {
    co_await group->join();
    co_return true;
  }(&successors_);
  (void)co_await within(std::chrono::steady_clock::now() + kSuccessorPatience, std::move(joined));
  co_await end_tasks(&successors_);
}

Task<std::unique_ptr<PodStarts::Permit>> PodPools::wanted_member(const View* view, std::string name) {
  const WatchedObjects* const watched = cluster_->watched();
  const std::string record = view->record.name();
  const std::uint64_t version = watched->config_maps().version_of(record);
  auto permit = co_await turns_->refill(labels::label_value(view->pool.name), view->pool.size, name);
  // Another server may have made it meanwhile, and the pool may have another size.
  const bool is_there = watched->pods().version_of(name) != 0;
  if (is_there || watched->config_maps().version_of(record) != version) co_return nullptr;
  co_return permit;
}

Task<Result<>> PodPools::add_member(const View* view, ManifestContext context, unsigned number) {
  while (turns() == nullptr && takes_ > 0) co_await quiet_.wait();
  context.sandbox_id = new_id("s");
  if (view->pool.sandbox.has_egress()) {
    SKIFF_CO_TRY(auto key, co_await cluster_->signing_key(true));
    SKIFF_CO_TRY(context.egress, co_await egress_access(cluster_, std::move(key), context.sandbox_id, {}));
  }
  SKIFF_CO_TRY(auto pod, create_member(view->pool, view->record, context, number));
  std::unique_ptr<PodStarts::Permit> permit;
  if (turns() != nullptr) {
    permit = co_await wanted_member(view, pod.name());
    if (!permit) co_return Result<>{};
  }
  auto made = co_await cluster_->client().create(kube::kPods, std::move(pod));
  if (made) cluster_->note(kube::kPods, *made);
  // Another client has created the same Pod, or the answer was lost: the next round notices it.
  if (made || made.error().already_exists() || made.error().may_have_happened) co_return Result<>{};
  co_return std::unexpected{creation_error(std::move(made.error()))};
}

Task<Result<>> PodPools::remove_member(Object pod) {
  kube::Client& client = cluster_->client();
  // Mark it first, so that no client takes it while it is being deleted. If a client was faster, it keeps the Pod.
  if (member_state(pod) != MemberState::leaving) {
    auto marked =
        co_await client.patch(kube::kPods, pod.namespace_name(), pod.name(), kube::PatchKind::json, leave_patch(pod));
    if (!marked) {
      const auto& failure = marked.error();
      if (failure.status.code == 422 || failure.not_found() || failure.may_have_happened) co_return Result<>{};
      co_return std::unexpected{std::move(marked.error())};
    }
  }
  kube::RemoveOptions options{.uid = pod.uid()};
  auto removed = co_await client.remove(kube::kPods, pod.namespace_name(), pod.name(), std::move(options));
  if (removed || removed.error().not_found() || removed.error().conflict()) co_return Result<>{};
  co_return std::unexpected{std::move(removed.error())};
}

Task<Result<>> PodPools::carry_out(PoolPlan plan, View view) {
  ManifestContext context;
  if (!plan.create.empty()) {
    SKIFF_CO_TRY(auto made, co_await member_context(view.assigns_ids));
    context = std::move(made);
    // Another server fills the pool at the same time: both begin with other ones.
    if (cluster_->watched() != nullptr) std::ranges::shuffle(plan.create, std::minstd_rand{random_number()});
  }
  std::vector<Result<>> results(plan.create.size() + plan.remove.size());
  const auto step = [&](std::size_t index) -> Task<Result<>> {
    if (index < plan.create.size()) return add_member(&view, context, plan.create[index]);
    return remove_member(plan.remove[index - plan.create.size()]);
  };
  const auto into = [](Task<Result<>> work, Result<>* result) -> Task<> { *result = co_await std::move(work); };
  co_await in_parallel(results.size(), kPodsAtOnce,
                       [&](std::size_t index) { return into(step(index), &results[index]); });
  for (Result<>& result : results) {
    if (!result) co_return std::move(result);
  }
  co_return Result<>{};
}

Task<Result<PoolStatus>> PodPools::fill(std::string name) {
  for (int round = 0; round < kMostRounds; ++round) {
    SKIFF_CO_TRY(auto view, co_await look(name));
    PoolPlan plan = plan_pool(view.pool, view.record, view.pods);
    if (plan.create.empty() && plan.remove.empty()) co_return count_members(view.pool, view.pods);
    SKIFF_CO_TRY_VOID(co_await carry_out(std::move(plan), std::move(view)));
  }
  co_return fail(Errc::timeout, "pool \"" + name + "\" is being changed by others repeatedly; try again");
}

Task<Result<>> PodPools::wait_until_full(std::string name, unsigned size, SteadyTime deadline, Progress progress) {
  kube::WatchOptions options{.namespace_name = cluster_->namespace_name(), .label_selector = waiting_selector(name)};
  kube::Watch watch{&cluster_->client(), std::move(options)};
  std::map<std::string, Object> pods;
  std::optional<SteadyTime> in_trouble_since;
  std::pair<Phase, std::size_t> told{Phase::ready, 0};
  for (;;) {
    std::size_t ready = 0;
    std::optional<PodVerdict> trouble;
    Phase phase = Phase::starting;
    for (const auto& [pod_name, pod] : pods) {
      if (can_be_taken(pod)) {
        ++ready;
        continue;
      }
      PodVerdict verdict = judge_pod(pod);
      phase = std::min(phase, verdict.phase);
      if (verdict.failure && (!trouble || !trouble->failure || verdict.is_final)) trouble = std::move(verdict);
    }
    if (ready >= size) co_return Result<>{};
    if (std::exchange(told, std::pair{phase, ready}) != told) {
      progress(phase, std::to_string(ready) + " of " + std::to_string(size) + " ready");
    }
    if (!trouble) in_trouble_since.reset();
    if (trouble && !in_trouble_since) in_trouble_since = std::chrono::steady_clock::now();
    const SteadyTime until = trouble ? std::min(deadline, *in_trouble_since + kTroublePatience) : deadline;
    if (trouble && (trouble->is_final || std::chrono::steady_clock::now() >= until)) {
      co_return std::unexpected{bring_up_failure(*trouble->failure, "pool \"" + name + "\": " + trouble->detail)};
    }
    auto event = co_await within(until, watch.next());
    if (!event && std::chrono::steady_clock::now() >= deadline) {
      co_return std::unexpected{not_full_in_time(name, ready, size)};
    }
    if (!event) continue;
    if (!*event) co_return std::unexpected{std::move(event->error())};
    if ((*event)->kind == kube::WatchEvent::Kind::snapshot) pods.clear();
    for (Object& pod : (*event)->objects) {
      if ((*event)->kind == kube::WatchEvent::Kind::deleted) {
        pods.erase(pod.name());
      } else {
        pods[pod.name()] = std::move(pod);
      }
    }
  }
}

Task<Result<PoolStatus>> PodPools::fill_and_wait(std::string name, SteadyTime deadline, Progress progress) {
  auto filled = co_await fill(name);
  if (!filled) co_return filled;
  const unsigned size = filled->target;
  SKIFF_CO_TRY_VOID(co_await wait_until_full(name, size, deadline, progress));
  progress(Phase::ready, "");
  co_return co_await status(std::move(name));
}

Task<Result<>> PodPools::create_record(const PoolSpec* wanted, std::string creation) {
  Object record = create_pool_record(*wanted, cluster_->namespace_name(), cluster_->options().name_prefix);
  record.json["data"][kAssignsIds] = co_await cluster_->assigns_ids() ? "true" : "false";
  mark_creation(record, creation);
  auto made = co_await cluster_->client().create(kube::kConfigMaps, std::move(record));
  if (made) co_return Result<>{};
  if (!made.error().already_exists()) co_return std::unexpected{creation_error(std::move(made.error()))};
  co_return std::unexpected{pool_exists(wanted->name)};
}

Task<Result<bool>> PodPools::take_back(std::string name, std::string creation, milliseconds patience) {
  auto record = co_await cluster_->client().get(kube::kConfigMaps, cluster_->namespace_name(),
                                                pool_record_name(cluster_->options().name_prefix, name));
  if (!record && !record.error().not_found()) co_return std::unexpected{std::move(record.error())};
  if (!record || !is_marked(*record, creation)) co_return true;
  auto gone = co_await remove_within(std::move(name), patience);
  if (gone || gone.error().code != Errc::timeout) co_return gone ? Result<bool>{true} : std::move(gone);
  co_return false;
}

Task<Result<PoolStatus>> PodPools::create(PoolSpec wanted, Progress progress) {
  SKIFF_CO_TRY_VOID(check_pool(wanted));
  if (!wanted.sandbox.pod.template_name.empty()) co_return no_templates();
  SKIFF_CO_TRY_VOID(cluster_->fill_in_images(wanted.sandbox));
  SKIFF_CO_TRY_VOID(co_await check_egress(cluster_, &wanted.sandbox));
  const SteadyTime deadline = std::chrono::steady_clock::now() + wanted.sandbox.wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  auto network = apply_network(cluster_, while_it_waits(wanted), context_of(*cluster_), nullptr);
  SKIFF_CO_TRY_VOID(co_await answered_by(deadline, std::move(network)));
  const std::string creation = new_id("c");
  const std::string name = wanted.name;
  auto work = create_and_fill(std::move(wanted), creation, deadline, std::move(progress));
  co_return co_await undo_unless(
      std::move(work), [&](milliseconds patience) { return take_back(name, creation, patience); }, kLateArrival,
      deadline + kHostPatience);
}

Task<Result<PoolStatus>> PodPools::create_and_fill(PoolSpec wanted, std::string creation, SteadyTime deadline,
                                                   Progress progress) {
  SKIFF_CO_TRY_VOID(co_await create_record(&wanted, std::move(creation)));
  co_return co_await fill_and_wait(std::move(wanted.name), deadline, std::move(progress));
}

Task<Result<std::vector<Object>>> PodPools::manifest_of(PoolSpec) {
  co_return no_templates();
}

Task<Result<PoolStatus>> PodPools::scale(std::string name, unsigned size, milliseconds wait, Progress progress) {
  SKIFF_CO_TRY_VOID(check_pool({.name = name, .size = size}));
  const SteadyTime deadline = std::chrono::steady_clock::now() + wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  auto work = scale_and_fill(std::move(name), size, deadline, std::move(progress));
  co_return co_await answered_by(deadline, std::move(work));
}

Task<Result<PoolStatus>> PodPools::scale_and_fill(std::string name, unsigned size, SteadyTime deadline,
                                                  Progress progress) {
  const json patch{{"data", {{"size", std::to_string(size)}}}};
  auto patched = co_await cluster_->client().patch(kube::kConfigMaps, cluster_->namespace_name(),
                                                   pool_record_name(cluster_->options().name_prefix, name),
                                                   kube::PatchKind::merge, patch);
  if (!patched && patched.error().not_found()) co_return std::unexpected{no_such_pool(name)};
  if (!patched) co_return std::unexpected{std::move(patched.error())};
  co_return co_await fill_and_wait(std::move(name), deadline, std::move(progress));
}

Task<Result<PoolStatus>> PodPools::status(std::string name) {
  SKIFF_CO_TRY(auto view, co_await look(std::move(name)));
  PoolStatus status = count_members(view.pool, view.pods);
  if (status.available < status.target) status.reason = co_await why_short(&view);
  co_return status;
}

Task<Result<std::vector<PoolStatus>>> PodPools::list() {
  SKIFF_CO_TRY(auto all, co_await list_quickly());
  for (PoolStatus& pool : all) {
    if (pool.available >= pool.target) continue;
    auto whole = co_await status(pool.name);
    if (whole) pool = std::move(*whole);
  }
  co_return all;
}

Task<Result<std::vector<PoolStatus>>> PodPools::list_quickly() {
  kube::Client& client = cluster_->client();
  kube::ListOptions options{.label_selector = labels::selector("pool", {})};
  SKIFF_CO_TRY(auto records, co_await client.list(kube::kConfigMaps, cluster_->namespace_name(), std::move(options)));
  kube::ListOptions members{.label_selector = std::string{labels::kPool}};
  SKIFF_CO_TRY(auto pods, co_await client.list(kube::kPods, cluster_->namespace_name(), std::move(members)));
  std::map<std::string, std::vector<Object>> by_pool;
  for (Object& pod : pods.items) by_pool[pod.label(labels::kPool)].push_back(std::move(pod));
  std::vector<PoolStatus> all;
  for (const Object& record : records.items) {
    SKIFF_CO_TRY(auto pool, read_pool_record(record));
    all.push_back(count_members(pool, by_pool[pool.name]));
  }
  std::ranges::sort(all, {}, &PoolStatus::name);
  co_return all;
}

Task<Result<bool>> PodPools::remove(std::string name) {
  return remove_within(std::move(name), kRemovalTime);
}

Task<Result<bool>> PodPools::remove_within(std::string name, milliseconds patience) {
  SKIFF_CO_TRY_VOID(check_pool_name(name));
  const std::string record_name = pool_record_name(cluster_->options().name_prefix, name);
  auto record = co_await cluster_->client().get(kube::kConfigMaps, cluster_->namespace_name(), record_name);
  if (!record && record.error().not_found()) co_return false;
  if (!record) co_return std::unexpected{std::move(record.error())};
  // The record of a sandbox "pool-NAME" has that name, too.
  if (record->label(labels::kComponent) != "pool") co_return false;
  // Waiting Pods are deleted with their owner; taken Pods have another owner.
  kube::RemoveOptions this_one{.uid = record->uid()};
  auto removed = co_await cluster_->client().remove(kube::kConfigMaps, cluster_->namespace_name(), record_name,
                                                    std::move(this_one));
  // A conflict means that another client has removed the record, and created another one of that name.
  if (!removed && (removed.error().not_found() || removed.error().conflict())) co_return false;
  if (!removed) co_return std::unexpected{std::move(removed.error())};
  kube::WatchOptions waiting{.namespace_name = cluster_->namespace_name(), .label_selector = waiting_selector(name)};
  kube::Watch watch{&cluster_->client(), std::move(waiting)};
  const SteadyTime deadline = std::chrono::steady_clock::now() + patience;
  std::map<std::string, bool> left;
  do {
    auto event = co_await within(deadline, watch.next());
    if (!event) {
      co_return fail(Errc::timeout, "pool \"" + name + "\" is removed, but " + std::to_string(left.size()) +
                                        " of its Pods still exist after " + std::to_string(patience.count() / 1000) +
                                        " s");
    }
    if (!*event) co_return std::unexpected{std::move(event->error())};
    if ((*event)->kind == kube::WatchEvent::Kind::snapshot) left.clear();
    for (const Object& pod : (*event)->objects) {
      left[pod.name()] = true;
      if ((*event)->kind == kube::WatchEvent::Kind::deleted) left.erase(pod.name());
    }
  } while (!left.empty());
  co_return true;
}

Task<Result<SandboxSpec>> PodPools::complete(SandboxSpec spec) {
  SKIFF_CO_TRY(auto view, co_await find(spec.pod.pool, Cluster::Reading::known));
  SKIFF_CO_TRY_VOID(check_fits_pool(spec, &view.pool.sandbox));
  SandboxSpec whole = complete_from_pool(std::move(spec), view.pool.sandbox);
  // A Service costs more than all the rest of a sandbox from a pool.
  if (whole.needs_no_service && whole.pod.dialects.empty()) whole.pod.service = ServiceKind::none;
  views_.insert_or_assign(whole.pod.pool, std::move(view));
  co_return whole;
}

}  // namespace skiff::container
