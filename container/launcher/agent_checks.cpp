#include "container/launcher/agent_checks.hpp"

#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/launcher/agent_client.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kMostAgents = 20;

Task<Result<std::string>> version_of(Driver* driver, std::string name) {
  auto endpoint = co_await driver->endpoint(std::move(name), {.scope = "read"});
  if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  auto answer = co_await agent.get("/v1/version");
  if (!answer) co_return std::unexpected{std::move(answer.error())};
  const nlohmann::json version = answer->is_object() ? answer->value("version", nlohmann::json{}) : nlohmann::json{};
  co_return version.is_string() ? version.get<std::string>() : "unknown";
}

}  // namespace

Task<Check> examine_agents(Driver* driver, std::string owner) {
  const std::string what = "agents";
  SandboxFilter filter{.state = SandboxState::running, .limit = kMostAgents};
  if (!owner.empty()) filter.owner = std::move(owner);
  auto page = co_await driver->list(std::move(filter));
  if (!page) co_return Check{.what = what, .detail = page.error().message, .remedy = "see what `skiff ps` says"};
  std::string wrong;
  std::string first;
  for (const Sandbox& sandbox : page->items) {
    auto version = co_await version_of(driver, sandbox.name);
    if (version && *version == SKIFF_VERSION) continue;
    if (first.empty()) first = sandbox.name;
    wrong +=
        (wrong.empty() ? "" : "; ") + sandbox.name + ": " + (version ? "version " + *version : version.error().message);
  }
  if (wrong.empty()) {
    const std::string count = std::to_string(page->items.size());
    co_return Check{.what = what, .passed = true, .detail = count + " asked, all of version " SKIFF_VERSION};
  }
  co_return Check{
      .what = what,
      .detail = std::move(wrong),
      .remedy = "make it anew with this version's agent: `skiff stop " + first + " && skiff start " + first + "`"};
}

}  // namespace skiff::container
