#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/id.hpp"
#include "base/log/log.hpp"
#include "container/cluster/pod/creation_error.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/pools.hpp"

/// Restores members of pools that were lost by a drain, a lost node or a quota.
namespace skiff::container {
namespace {

/// Pause before a pool that lacks members is filled.
constexpr std::chrono::milliseconds kBeforeFilling{1'000};

}  // namespace

void PodPools::want_filled(std::string name) {
  const auto [at, is_new] = fillers_.try_emplace(name, false);
  at->second = !is_new;  // the running filler makes another round
  if (is_new) successors_.spawn("fill a pool", fill_in_turn(std::move(name)));
}

Task<> PodPools::fill_in_turn(std::string name) {
  const auto done = [this](const std::string* which) { fillers_.erase(*which); };
  const std::unique_ptr<const std::string, decltype(done)> ending{&name, done};
  do {
    // Callers that have taken a member are creating another one at this moment.
    co_await pause(kBeforeFilling);
    fillers_[name] = false;
    auto filled = co_await fill(name);
    note_filling(name, filled ? std::string{} : std::move(filled.error().message));
  } while (fillers_[name]);
}

void PodPools::note_filling(const std::string& name, std::string trouble) {
  const auto known = troubles_.find(name);
  if (trouble.empty()) {
    if (known != troubles_.end()) log::info("a pool can be filled again", {{"pool", name}});
    troubles_.erase(name);
    return;
  }
  ++failures_;
  if (!is_kept_ || (known != troubles_.end() && known->second == trouble)) return;  // logged before
  log::warning("a pool cannot be filled", {{"pool", name}, {"place", cluster_->namespace_name()}, {"error", trouble}});
  troubles_.insert_or_assign(name, std::move(trouble));
}

Task<Result<PoolHealth>> PodPools::heal() {
  is_kept_ = true;
  SKIFF_CO_TRY(auto all, co_await list_quickly());
  PoolHealth health{.failures = failures_};
  for (const PoolStatus& pool : all) {
    health.missing += pool.missing();
    if (pool.missing() > 0 || pool.waiting() > pool.target) want_filled(pool.name);
  }
  health.pools = std::move(all);
  co_return health;
}

/// The reason why existing members are not ready, or else why missing ones are refused.
Task<std::string> PodPools::why_short(const View* view) {
  for (const kube::Object& pod : view->pods) {
    if (member_state(pod) != MemberState::free || can_be_taken(pod)) continue;
    if (is_node_silent(pod)) co_return "its node " + pod.text({"spec", "nodeName"}) + " does not answer";
    PodVerdict verdict = judge_pod(pod);
    if (verdict.failure) co_return std::move(verdict.detail);
  }
  if (count_members(view->pool, view->pods).missing() == 0) co_return std::string{};
  ManifestContext context{.namespace_name = cluster_->namespace_name(),
                          .prefix = cluster_->options().name_prefix,
                          .sandbox_id = new_id("s")};
  context.assigns_ids = co_await cluster_->assigns_ids();
  auto pod = create_member(view->pool, view->record, context, kFirstSuccessor);
  if (!pod) co_return std::move(pod.error().message);
  auto taken = co_await cluster_->client().create(kube::kPods, std::move(*pod), {.dry_run = true});
  co_return taken ? std::string{} : creation_error(std::move(taken.error())).message;
}

}  // namespace skiff::container
