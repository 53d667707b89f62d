#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/agent/client.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_error.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/pools.hpp"

/// Takes members of pools for sandboxes.
namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

/// Most reads of a pool whose Pods are taken by other clients.
constexpr int kMostLooks = 3;
/// Most agents in a row that do not answer.
constexpr int kMostDeadAgents = 3;

std::string free_selector(std::string_view pool) {
  return pool_selector(pool) + "," + std::string{labels::kPoolState} + "=free";
}

/// True for a refusal that every other agent would give, too.
bool is_ones_own_fault(const Error& error) {
  return error.code == Errc::invalid_field || error.code == Errc::unknown_field || error.code == Errc::missing_field ||
         error.code == Errc::invalid_request || error.code == Errc::payload_too_large;
}

}  // namespace

/// While one lives, no successors are made: they would compete with the callers that wait.
class PodPools::Taking {
 public:
  explicit Taking(PodPools* pools) : pools_{pools} {
    ++pools_->takes_;
    if (PoolTurns* const turns = pools_->turns()) counted_.emplace(turns);
  }
  ~Taking() {
    if (--pools_->takes_ == 0) pools_->quiet_.notify_all();
  }
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;

 private:
  PodPools* pools_;
  std::optional<PoolTurns::Taking> counted_;
};

PoolTurns* PodPools::turns() {
  WatchedObjects* const watched = cluster_->watched();
  if (watched == nullptr || !watched->is_complete()) return nullptr;
  if (!turns_) turns_.emplace(watched, cluster_->executor());
  return &*turns_;
}

std::unique_ptr<PodStarts::Permit> PodPools::cold_start(std::string name) {
  PoolTurns* const turns = this->turns();
  return turns == nullptr ? nullptr : turns->start(std::move(name));
}

Task<bool> PodPools::assigns_ids(std::string pool) {
  const auto seen = views_.find(pool);
  if (seen != views_.end() && seen->second.assigns_ids) co_return *seen->second.assigns_ids;
  co_return co_await cluster_->assigns_ids();
}

void PodPools::begin_refill(const std::string& pool, std::optional<std::size_t> left) {
  // A server takes many: it makes the missing ones together, after the takes.
  if (cluster_->watched() != nullptr) return want_filled(pool);
  successors_.spawn("successor", create_successor(pool, left));
}

/// Takes this Pod; nullopt if another client was faster.
Task<Result<std::optional<Object>>> PodPools::take_member(Object pod, const SandboxSpec* spec,
                                                          const std::optional<Object>* record) {
  kube::Client& client = cluster_->client();
  const std::string namespace_name = pod.namespace_name();
  const std::string name = pod.name();
  const std::string taker = turns_ ? turns_->members().taker() : std::string{};
  auto taken = co_await client.patch(kube::kPods, namespace_name, name, kube::PatchKind::json,
                                     take_patch(pod, *spec, *record, taker));
  if (!taken && taken.error().may_have_happened) {
    taken = co_await client.get(kube::kPods, namespace_name, name);
    if (taken && !was_taken_for(*taken, *spec, *record)) co_return std::nullopt;
  }
  if (taken) {
    cluster_->note(kube::kPods, *taken);
    co_return std::move(*taken);
  }
  const bool was_faster = taken.error().status.code == 422 || taken.error().not_found();
  if (was_faster) co_return std::nullopt;
  co_return std::unexpected{std::move(taken.error())};
}

Task<Result<std::optional<Object>>> PodPools::take_in_turn(const SandboxSpec* spec,
                                                           const std::optional<Object>* record) {
  const std::string pool = labels::label_value(spec->pod.pool);
  if (turns_->is_full(pool)) {
    co_return fail(Errc::resource_exhausted,
                   "too many sandboxes of the pool \"" + spec->pod.pool + "\" are wanted at the same time: try again");
  }
  PoolTurns::Place place{&*turns_, pool, spec->wait};
  for (;;) {
    auto held = co_await place.turn();
    if (!held) co_return std::nullopt;
    SKIFF_CO_TRY(auto taken, co_await take_member(held->pod(), spec, record));
    if (taken) co_return taken;
    held->refuse();
    place.come_back();
  }
}

Task<Result<std::optional<ClaimedPod>>> PodPools::claim(SandboxSpec spec, std::optional<Object> record) {
  if (turns() != nullptr) {
    SKIFF_CO_TRY(auto known, co_await take_in_turn(&spec, &record));
    if (!known) co_return std::nullopt;
    co_return ClaimedPod{.pod = std::move(*known)};
  }
  const auto seen = views_.find(spec.pod.pool);
  std::string part = seen == views_.end() ? std::string{} : some_slots(seen->second.pool.size, random_number());
  for (int looks = 0; looks < kMostLooks; ++looks) {
    kube::ListOptions options{.label_selector = free_selector(spec.pod.pool)};
    const bool is_part = !part.empty();
    if (is_part) options.label_selector += "," + std::exchange(part, {});
    SKIFF_CO_TRY(auto listed,
                 co_await cluster_->client().list(kube::kPods, cluster_->namespace_name(), std::move(options)));
    std::vector<Object>& pods = listed.items;
    std::erase_if(pods, [](const Object& pod) { return member_state(pod) != MemberState::free; });
    const std::size_t waiting = pods.size();
    std::erase_if(pods, [](const Object& pod) { return !can_be_taken(pod); });
    if (pods.empty() && is_part) continue;
    if (pods.empty()) co_return std::nullopt;
    // Clients that come together should not all begin with the same Pod.
    std::ranges::rotate(pods, pods.begin() + static_cast<std::ptrdiff_t>(random_number() % pods.size()));
    for (Object& pod : pods) {
      SKIFF_CO_TRY(auto taken, co_await take_member(std::move(pod), &spec, &record));
      if (!taken) continue;
      ClaimedPod claimed{.pod = std::move(*taken)};
      if (!is_part) claimed.left = waiting - 1;
      co_return claimed;
    }
  }
  co_return std::nullopt;
}

Task<Result<>> PodPools::bind(Object pod, SandboxSpec spec) {
  auto key = co_await cluster_->signing_key_of(pod);
  if (!key) co_return std::unexpected{std::move(key.error())};
  ReachTarget target{.sandbox = spec.name, .namespace_name = pod.namespace_name(), .pod = pod};
  auto token = [key = std::move(*key), id = labels::get(pod, labels::kSandbox), owner = spec.owner] {
    return sign_token(key, id, owner, {}, wall_now());
  };
  SKIFF_CO_TRY(auto endpoint, co_await reach_->find(std::move(target), std::move(token)));
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  json body{{"env", spec.env}, {"labels", spec.labels}};
  if (spec.lease.ttl) body["ttl_ms"] = spec.lease.ttl->count();
  if (spec.lease.idle_ttl) body["idle_ttl_ms"] = spec.lease.idle_ttl->count();
  std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  auto done = co_await agent.post("/v1/init", std::move(text));
  // Another process that finishes this creation has sent the same values (PodDriver::adopt).
  if (done || done.error().code == Errc::already_initialised) co_return Result<>{};
  co_return std::unexpected{std::move(done.error())};
}

Task<Result<std::optional<TakenSandbox>>> PodPools::take(SandboxSpec spec, Object record, Limit limit) {
  const Taking taking{this};
  Error last;
  for (int tries = 0; tries < kMostDeadAgents; ++tries) {
    SKIFF_CO_TRY(auto claimed, co_await claim(spec, record));
    if (!claimed) {
      want_filled(spec.pod.pool);
      co_return std::nullopt;
    }
    Object& pod = claimed->pod;
    const std::string id = labels::get(pod, labels::kSandbox);
    // Run this at the same time as the binding, and even if that fails, because the pool has lost a member.
    begin_refill(spec.pod.pool, claimed->left);
    Result<> limited;
    Result<> bound = std::unexpected{Error{}};
    std::exception_ptr cancelled;
    try {
      limited = co_await limit(id);
      if (limited) bound = co_await bind(pod, spec);
    } catch (...) {
      cancelled = std::current_exception();
    }
    if (bound && !cancelled) co_return TakenSandbox{.pod = std::move(pod), .id = id};
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    kube::RemoveOptions options{.uid = pod.uid()};
    // The fence goes with the Pod's address, so its processes have to end first.
    if (!spec.has_egress()) options.grace_seconds = 0;
    (void)co_await cluster_->client().remove(kube::kPods, pod.namespace_name(), pod.name(), std::move(options));
    if (cancelled) std::rethrow_exception(cancelled);
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
    if (!limited) co_return std::unexpected{std::move(limited.error())};
    if (is_ones_own_fault(bound.error())) co_return std::unexpected{std::move(bound.error())};
    last = std::move(bound.error());
  }
  co_return std::unexpected{bring_up_failure(
      FailureReason::no_agent, "the agents of pool \"" + spec.pod.pool + "\" don't answer: " + last.message)};
}

}  // namespace skiff::container
