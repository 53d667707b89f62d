#include "container/serve/fleet/known_sandboxes.hpp"

#include <algorithm>
#include <utility>

#include "base/async/with_timeout.hpp"
#include "container/serve/answer.hpp"

namespace skiff::container::serve {
namespace {

/// A text that differs for each run: another record under the same name has another id, and a restarted sandbox has
/// another process or Pod. If two runs have the same text, the first one's connections have ended with it.
std::string run_text(const Sandbox& sandbox) {
  std::string text = sandbox.id + " " + sandbox.address;
  for (const char* detail : {"pid", "pod", "pod_ip", "node"}) {
    const auto found = sandbox.details.find(detail);
    if (found != sandbox.details.end()) text.append(1, ' ').append(found->second);
  }
  return text;
}

template <class T>
Task<Result<T>> answered(SteadyTime until, Task<Result<T>> question) {
  auto answer = co_await within(until, std::move(question));
  if (answer) co_return std::move(*answer);
  co_return fail(Errc::cluster_unavailable, "the cluster does not answer");
}

template <class T>
bool is_away(const Result<T>& answer) {
  return !answer && is_cluster_fault(answer.error());
}

}  // namespace

KnownSandboxes::KnownSandboxes(Fleet* fleet, std::size_t most) : fleet_{fleet}, most_{std::min(most, kMost)} {
  fleet_->tell_changes([this](const std::string& tenant, const std::string& id) { forget(tenant, id); });
}

KnownSandboxes::~KnownSandboxes() {
  fleet_->tell_changes({});
}

bool KnownSandboxes::Known::is_away() const {
  return std::chrono::steady_clock::now() < away_until;
}

bool KnownSandboxes::Known::holds() const {
  if (is_away()) return true;
  return freshness ? freshness->holds() : std::chrono::steady_clock::now() - looked_at < kFresh;
}

void KnownSandboxes::forget(const std::string& tenant, const std::string& id) {
  ++changes_;
  known_.erase({tenant, id});
  absent_.erase({tenant, id});
}

void KnownSandboxes::drop_ended() {
  for (int times = 0; times < kExaminedAtOnce && !known_.empty(); ++times) {
    auto next = known_.upper_bound(examined_);
    if (next == known_.end()) next = known_.begin();
    examined_ = next->first;
    if (next->second->freshness && !next->second->freshness->holds()) known_.erase(next);
  }
}

void KnownSandboxes::make_room() {
  if (known_.size() < most_) return;
  known_.erase(std::ranges::min_element(known_, {}, [](const auto& one) { return one.second->used_at; }));
}

const KnownSandboxes::Way* KnownSandboxes::Known::find(const TokenGrant& grant, WallTime until) const {
  // Ends are truncated to seconds.
  const WallTime latest = until + kTokenUse + std::chrono::seconds{1};
  const auto found = std::ranges::find_if(ways, [&](const Way& way) {
    return way.scope == grant.scope && way.subject == grant.subject && way.ends >= until && way.ends <= latest;
  });
  return found == ways.end() ? nullptr : &*found;
}

std::optional<Endpoint> KnownSandboxes::Known::renewed(const TokenGrant& grant, WallTime until) {
  const auto found = std::ranges::find_if(
      ways, [&](const Way& way) { return way.scope == grant.scope && way.subject == grant.subject; });
  const WallTime ends = wall_now() + (found == ways.end() ? std::chrono::seconds{0} : found->lifetime);
  if (found == ways.end() || ends < until) return std::nullopt;
  auto token = found->sign();
  if (!token) return std::nullopt;
  found->ends = ends;
  found->endpoint.token = [token = std::move(*token)] { return Result<std::string>{token}; };
  return found->endpoint;
}

bool KnownSandboxes::goes_on(const Which& which, const std::shared_ptr<Known>& before) const {
  const auto found = known_.find(which);
  const bool is_the_same = before && found != known_.end() && found->second == before;
  return is_the_same && !before->freshness && std::chrono::steady_clock::now() - before->looked_at < kAway;
}

Task<Result<std::shared_ptr<KnownSandboxes::Known>>> KnownSandboxes::look(SandboxRef of) {
  std::optional<Sandbox> asleep;
  SKIFF_CO_TRY(auto known, co_await look_at_any(std::move(of), &asleep));
  if (asleep) co_return std::unexpected{not_running(*asleep)};
  co_return known;
}

Task<Result<std::shared_ptr<KnownSandboxes::Known>>> KnownSandboxes::look_at_any(SandboxRef of,
                                                                                 std::optional<Sandbox>* asleep) {
  Which which{std::move(of.tenant), std::move(of.sandbox)};
  const SteadyTime now = std::chrono::steady_clock::now();
  std::shared_ptr<Known> before;
  if (const auto found = known_.find(which); found != known_.end()) {
    before = found->second;
    before->used_at = now;
    if (before->holds()) co_return before;
  }
  const std::uint64_t changes = changes_;
  const auto patience = goes_on(which, before) ? kPatience : kFirstPatience;
  auto answer = co_await answered(now + patience, fleet_->look_up(which.first, which.second));
  if (is_away(answer) && goes_on(which, before)) {
    before->away_until = std::chrono::steady_clock::now() + kFresh;
    co_return before;
  }
  if (const auto found = known_.find(which); found != known_.end() && found->second == before) known_.erase(found);
  SKIFF_CO_TRY(auto found, std::move(answer));
  absent_.erase(which);
  auto known = std::make_shared<Known>();
  known->nonce = nonce_of(found.sandbox);
  if (found.sandbox.state != SandboxState::running) {
    *asleep = std::move(found.sandbox);
    co_return known;
  }
  known->run = run_text(found.sandbox);
  known->freshness = std::move(found.freshness);
  known->looked_at = known->used_at = now;
  // An agent that accepted the key of a token accepts it as long as it runs.
  if (before && before->run == known->run) known->ways = before->ways;
  if (changes == changes_) {
    drop_ended();
    make_room();
    known_.insert_or_assign(std::move(which), known);
  }
  co_return known;
}

Task<Result<std::string>> KnownSandboxes::run_of(SandboxRef of) {
  SKIFF_CO_TRY(auto known, co_await look(std::move(of)));
  co_return known->run;
}

bool KnownSandboxes::is_absent(const Which& which) {
  const auto found = absent_.find(which);
  if (found == absent_.end()) return false;
  if (std::chrono::steady_clock::now() - found->second < kFresh) return true;
  absent_.erase(found);
  return false;
}

void KnownSandboxes::note_absent(Which which) {
  // A forgotten entry costs another look.
  if (absent_.size() >= kMostAbsent) absent_.clear();
  absent_.insert_or_assign(std::move(which), std::chrono::steady_clock::now());
}

Task<Result<std::string>> KnownSandboxes::nonce(SandboxRef of) {
  Which which{of.tenant, of.sandbox};
  if (is_absent(which)) co_return std::unexpected{no_such_sandbox(of.sandbox)};
  const std::uint64_t changes = changes_;
  std::optional<Sandbox> asleep;
  auto known = co_await look_at_any(std::move(of), &asleep);
  if (known) co_return (*known)->nonce;
  if (known.error().code == Errc::sandbox_not_found && changes == changes_) note_absent(std::move(which));
  co_return std::unexpected{std::move(known.error())};
}

Task<Result<Endpoint>> KnownSandboxes::agent(SandboxRef of, TokenGrant grant, Look how) {
  SKIFF_CO_TRY(auto known, co_await look(of));
  const WallTime until = wall_now() + grant.lifetime;
  // A sandbox with a freshness is always up to date.
  if (how == Look::known || known->freshness || known->is_away()) {
    if (const Way* way = known->find(grant, until); way != nullptr) co_return way->endpoint;
  }
  if (known->is_away()) {
    if (auto renewed = known->renewed(grant, until)) co_return std::move(*renewed);
  }
  TokenGrant longer = grant;
  longer.lifetime += kTokenUse;
  Way way{.scope = grant.scope,
          .subject = grant.subject,
          .ends = until + kTokenUse,
          .endpoint = {},
          .lifetime = longer.lifetime,
          .sign = {}};
  const SteadyTime latest = std::chrono::steady_clock::now() + (known->ways.empty() ? kFirstPatience : kPatience);
  auto found = co_await answered(latest, fleet_->endpoint(of.tenant, of.sandbox, std::move(longer)));
  if (is_away(found)) {
    if (auto renewed = known->renewed(grant, until)) co_return std::move(*renewed);
  }
  SKIFF_CO_TRY(way.endpoint, std::move(found));
  way.sign = std::move(way.endpoint.token);
  SKIFF_CO_TRY(auto token, way.sign());
  way.endpoint.token = [token = std::move(token)] { return Result<std::string>{token}; };
  if (known->holds()) {
    if (known->ways.size() >= kMostWays) known->ways.clear();
    known->ways.push_back(way);
  }
  co_return std::move(way.endpoint);
}

}  // namespace skiff::container::serve
