#include "container/launcher/collect.hpp"

#include <limits>
#include <set>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/kube/time.hpp"
#include "container/launcher/agent_client.hpp"
#include "container/launcher/claim_pools.hpp"
#include "container/launcher/in_parallel.hpp"
#include "container/launcher/labels.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Each removal waits for the end of a Pod, which takes half a minute and more.
constexpr std::size_t kCollectedAtOnce = 16;
/// Beside the clocks, for an agent that is busy with its end.
constexpr std::chrono::minutes kGrace{5};

/// How long a running sandbox has been idle: zero while it is in use. Nothing if its agent can't be asked, or talks
/// nonsense.
Task<std::optional<milliseconds>> idle_time(Driver* driver, std::string name) {
  auto endpoint = co_await driver->endpoint(std::move(name), {});
  if (!endpoint) co_return std::nullopt;
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  auto activity = co_await agent.get("/v1/activity");
  if (!activity) co_return std::nullopt;
  const auto in_use = flag_at(*activity, "in_use");
  const auto idle_ms = number_at(*activity, "idle_ms");
  if (!in_use || !idle_ms) co_return std::nullopt;
  co_return *in_use ? milliseconds{0} : milliseconds{static_cast<std::int64_t>(*idle_ms)};
}

/// Why it should go; empty if it should not.
Task<std::string> reason_to_remove(Driver* driver, Sandbox sandbox, std::optional<milliseconds> max_idle) {
  if (sandbox.state == SandboxState::ended || sandbox.state == SandboxState::failed) {
    co_return std::string{state_word(sandbox.state)} + ": " + sandbox.reason;
  }
  const bool outlived = has_outlived(sandbox, wall_now());
  const std::string late = outlived ? "its lease was over at " + *sandbox.expires_at : "";
  if (sandbox.state == SandboxState::creating && outlived) co_return late + ", and it never came up";
  if (sandbox.state != SandboxState::running || !(outlived || max_idle)) co_return std::string{};
  // Its agent knows best: the lease can be renewed without the launcher.
  const auto idle = co_await idle_time(driver, sandbox.name);
  if (!idle && outlived) co_return late + ", and its agent does not answer";
  if (!idle || !max_idle || *idle < *max_idle) co_return std::string{};
  co_return "idle for " + std::to_string(idle->count() / 1000) + " s";
}

enum class Fate : std::uint8_t { kept, removed, failed, gone };

struct Decision {
  Fate fate = Fate::kept;
  std::string reason = {};
};

/// `seen` may be old: nothing is removed for a reason that is not true of it now.
Task<Decision> decide(Driver* driver, Sandbox seen, Collecting what) {
  const Decision kept{Fate::kept, std::string{state_word(seen.state)}};
  std::string reason = co_await reason_to_remove(driver, seen, what.max_idle);
  if (reason.empty()) co_return kept;
  auto now = co_await driver->get(seen.name);
  if (!now && now.error().code == Errc::sandbox_not_found) co_return Decision{Fate::gone};
  if (!now) co_return Decision{Fate::failed, std::move(now.error().message)};
  if (now->id != seen.id) co_return kept;
  reason = co_await reason_to_remove(driver, *now, what.max_idle);
  if (reason.empty()) co_return Decision{Fate::kept, std::string{state_word(now->state)}};
  if (what.dry_run) co_return Decision{Fate::removed, std::move(reason)};
  auto removed = co_await driver->remove_if(seen.name, seen.id);
  if (!removed) co_return Decision{Fate::failed, std::move(removed.error().message)};
  co_return Decision{*removed ? Fate::removed : Fate::gone, std::move(reason)};
}

Task<> collect_one(Driver* driver, Sandbox seen, Collecting what, Decision* outcome) {
  *outcome = co_await decide(driver, std::move(seen), std::move(what));
}

}  // namespace

bool has_outlived(const Sandbox& sandbox, WallTime now) {
  if (!sandbox.expires_at) return false;
  const auto end = kube::parse_time(*sandbox.expires_at);
  return end && now > *end + kGrace;
}

Task<Result<Collected>> collect_garbage(Driver* driver, Collecting what) {
  SandboxFilter filter{.owner = what.owner, .limit = std::numeric_limits<std::size_t>::max()};
  auto page = co_await driver->list(std::move(filter));
  if (!page) co_return std::unexpected{std::move(page.error())};
  const std::vector<Sandbox>& all = page->items;
  std::vector<Decision> outcomes(all.size());
  co_await in_parallel(all.size(), kCollectedAtOnce,
                       [&](std::size_t index) { return collect_one(driver, all[index], what, &outcomes[index]); });
  Collected collected;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto add = [&](std::vector<Verdict>& to) { to.push_back({all[i].name, std::move(outcomes[i].reason)}); };
    switch (outcomes[i].fate) {
      case Fate::kept:
        add(collected.kept);
        break;
      case Fate::removed:
        add(collected.removed);
        break;
      case Fate::failed:
        add(collected.failed);
        break;
      case Fate::gone:
        break;
    }
  }
  co_return collected;
}

Task<Result<std::vector<std::string>>> namespaces_of_sandboxes(Cluster* cluster, ClusterDriver driver) {
  std::vector<std::pair<kube::Resource, std::string_view>> places{{kube::kConfigMaps, "record"},
                                                                  {kube::kPods, "sandbox"}};
  if (driver == ClusterDriver::claim) {
    ClaimPools pools{cluster};
    auto api = co_await pools.api();
    if (!api) co_return std::unexpected{std::move(api.error())};
    places = {{at(kube::kSandboxClaims, *api), "sandbox"}, {at(kube::kSandboxes, *api), "sandbox"}};
  }
  std::set<std::string> names;
  for (const auto& [resource, component] : places) {
    const auto note = [&names](const std::vector<kube::Object>& items, bool) {
      for (const kube::Object& object : items) names.insert(object.namespace_name());
    };
    kube::ListOptions options{.label_selector = labels::selector(component, {})};
    auto listed = co_await cluster->client().each_page(resource, {}, std::move(options), note);
    // The extensions of agent-sandbox can be left out.
    if (!listed && !listed.error().not_found()) co_return std::unexpected{std::move(listed.error().error)};
  }
  co_return std::vector<std::string>{names.begin(), names.end()};
}

}  // namespace skiff::container
