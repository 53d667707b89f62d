#include "container/launcher/collect.hpp"

#include <set>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/launcher/agent_client.hpp"
#include "container/launcher/claim_pools.hpp"
#include "container/launcher/labels.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// How long a running sandbox has been idle; nothing while it is in use, or can't be asked.
Task<std::optional<milliseconds>> idle_time(Driver* driver, std::string name) {
  auto endpoint = co_await driver->endpoint(std::move(name), {});
  if (!endpoint) co_return std::nullopt;
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  auto activity = co_await agent.get("/v1/activity");
  if (!activity || activity->value("in_use", true)) co_return std::nullopt;
  co_return milliseconds{activity->value("idle_ms", 0LL)};
}

/// Why it should go; empty if it should not.
Task<std::string> reason_to_remove(Driver* driver, Sandbox sandbox, std::optional<milliseconds> max_idle) {
  if (sandbox.state == SandboxState::ended || sandbox.state == SandboxState::failed) {
    co_return std::string{state_word(sandbox.state)} + ": " + sandbox.reason;
  }
  if (sandbox.state != SandboxState::running || !max_idle) co_return std::string{};
  const auto idle = co_await idle_time(driver, sandbox.name);
  if (!idle || *idle < *max_idle) co_return std::string{};
  co_return "idle for " + std::to_string(idle->count() / 1000) + " s";
}

}  // namespace

Task<Result<Collected>> collect_garbage(Driver* driver, Collecting what) {
  Collected collected;
  SandboxFilter filter{.owner = what.owner};
  do {
    auto page = co_await driver->list(filter);
    if (!page) co_return std::unexpected{std::move(page.error())};
    for (const Sandbox& sandbox : page->items) {
      std::string reason = co_await reason_to_remove(driver, sandbox, what.max_idle);
      if (reason.empty()) {
        collected.kept.push_back({sandbox.name, std::string{state_word(sandbox.state)}});
        continue;
      }
      if (what.dry_run) {
        collected.removed.push_back({sandbox.name, std::move(reason)});
        continue;
      }
      auto removed = co_await driver->remove(sandbox.name);
      if (removed && *removed) collected.removed.push_back({sandbox.name, std::move(reason)});
      if (!removed) collected.failed.push_back({sandbox.name, std::move(removed.error().message)});
    }
    filter.cursor = std::move(page->next);
  } while (!filter.cursor.empty());
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
    std::string from;
    do {
      kube::ListOptions options{.label_selector = labels::selector(component, {})};
      auto page = co_await cluster->client().list_page(resource, {}, std::move(options), std::move(from));
      from.clear();
      // The extensions of agent-sandbox can be left out.
      if (!page && page.error().not_found()) continue;
      if (!page) co_return std::unexpected{std::move(page.error().error)};
      for (const kube::Object& object : page->items) names.insert(object.namespace_name());
      from = std::move(page->continue_token);
    } while (!from.empty());
  }
  co_return std::vector<std::string>{names.begin(), names.end()};
}

}  // namespace skiff::container
