#include "container/sandbox/agent_checks.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/agent/client.hpp"
#include "container/agent/copy/clock_difference.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kMostAgents = 20;
constexpr std::size_t kLongestVersion = std::size_t{64} << 10U;

struct AgentNow {
  std::string version;
  std::optional<std::chrono::seconds> ahead;  ///< how far its clock is ahead of ours
};

Task<Result<AgentNow>> ask_agent(Driver* driver, std::string name) {
  SKIFF_CO_TRY(auto endpoint, co_await driver->endpoint(std::move(name), {.scope = "read"}));
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  SKIFF_CO_TRY(auto head, co_await agent.open("/v1/version"));
  const auto ahead = clock_difference(head.headers, wall_now());
  SKIFF_CO_TRY(auto body, co_await agent.http().read_body(kLongestVersion));
  const nlohmann::json said = protocol::parse_json(body).value_or(nlohmann::json{});
  if (!said.is_object()) {
    co_return fail(Errc::invalid_request, "what answers there is not skiffd: its version is not a JSON object");
  }
  std::string version = text_at(said, "version");
  co_return AgentNow{.version = version.empty() ? "unknown" : std::move(version), .ahead = ahead};
}

bool is_off(const AgentNow& agent) {
  return agent.ahead && (*agent.ahead > kMostClockDifference || *agent.ahead < -kMostClockDifference);
}

}  // namespace

Task<Check> examine_agents(Driver* driver, std::string owner) {
  const std::string what = "agents";
  SandboxFilter filter{.state = SandboxState::running, .limit = kMostAgents};
  if (!owner.empty()) filter.owner = std::move(owner);
  auto page = co_await driver->list(std::move(filter));
  if (!page)
    co_return Check{.what = what, .detail = page.error().message, .remedy = "look at the output of `skiff ps`"};
  std::string wrong;
  std::string first;
  bool has_other_clock = false;
  for (const Sandbox& sandbox : page->items) {
    auto agent = co_await ask_agent(driver, sandbox.name);
    std::string what_is_wrong;
    if (!agent) {
      what_is_wrong = agent.error().message;
    } else if (is_off(*agent)) {
      has_other_clock = true;
      what_is_wrong = "its clock is " + clock_words(*agent->ahead);
    } else if (agent->version != SKIFF_VERSION) {
      what_is_wrong = "version " + agent->version;
    }
    if (what_is_wrong.empty()) continue;
    if (first.empty()) first = sandbox.name;
    wrong += (wrong.empty() ? "" : "; ") + sandbox.name + ": " + what_is_wrong;
  }
  if (has_other_clock) {
    co_return Check{
        .what = what,
        .detail = std::move(wrong),
        .remedy = "synchronize this machine's clock and the nodes' by NTP: tokens are valid for only a few minutes"};
  }
  if (wrong.empty()) {
    const std::string count = std::to_string(page->items.size());
    co_return Check{.what = what, .passed = true, .detail = count + " asked, all of version " SKIFF_VERSION};
  }
  co_return Check{
      .what = what,
      .detail = std::move(wrong),
      .remedy = "start it again with this version's agent: `skiff stop " + first + " && skiff start " + first + "`"};
}

}  // namespace skiff::container
