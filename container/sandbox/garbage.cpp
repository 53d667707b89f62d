#include "container/sandbox/garbage.hpp"

#include <limits>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "base/async/semaphore.hpp"
#include "container/agent/client.hpp"
#include "container/net/time.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Number of agents that are asked at the same time.
constexpr std::size_t kAskedAtOnce = 16;
/// Grace after the lease, for differing clocks and for an agent that is still ending.
constexpr std::chrono::minutes kGrace{5};

/// How long a running sandbox has been idle: zero while it is in use. Empty if its agent does not answer, or answers
/// nonsense.
Task<std::optional<milliseconds>> idle_time(Driver* driver, std::string name) {
  auto endpoint = co_await driver->endpoint(std::move(name), {.scope = "read"});
  if (!endpoint) co_return std::nullopt;
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  auto activity = co_await agent.get("/v1/activity");
  if (!activity) co_return std::nullopt;
  const auto in_use = flag_at(*activity, "in_use");
  const auto idle_ms = number_at(*activity, "idle_ms");
  if (!in_use || !idle_ms) co_return std::nullopt;
  co_return *in_use ? milliseconds{0} : milliseconds{static_cast<std::int64_t>(*idle_ms)};
}

/// The reason to remove the sandbox, by the driver's description of it; empty if it stays.
std::string reason_of(const Sandbox& sandbox) {
  const bool outlived = has_outlived(sandbox, wall_now());
  const std::string late = outlived ? "its lease was over at " + *sandbox.expires_at : "";
  if (sandbox.state == SandboxState::ended || sandbox.state == SandboxState::failed) {
    std::string why = std::string{state_word(sandbox.state)} + ": " + sandbox.reason;
    if (!sandbox.was_broken || sandbox.was_never_up) return why;
    // `start` can bring it back with its volumes.
    return outlived ? std::move(why) + "; " + late : std::string{};
  }
  return sandbox.state == SandboxState::creating && outlived ? late + ", and it never came up" : std::string{};
}

/// The reason to remove a running sandbox, by its agent: the lease can be renewed without the launcher. Empty if it
/// stays.
Task<std::string> ask_why(Driver* driver, Sandbox sandbox, std::optional<milliseconds> max_idle) {
  const bool outlived = has_outlived(sandbox, wall_now());
  const auto idle = co_await idle_time(driver, sandbox.name);
  if (!idle && outlived) co_return "its lease was over at " + *sandbox.expires_at + ", and its agent does not answer";
  if (!idle || !max_idle || *idle < *max_idle) co_return std::string{};
  co_return "idle for " + std::to_string(idle->count() / 1000) + " s";
}

enum class Fate : std::uint8_t { kept, removed, failed, gone };

struct Decision {
  Fate fate = Fate::kept;
  std::string reason = {};
};

/// Removes a sandbox if the reason is still true at that moment: the list may be old.
Task<Decision> remove_one(Driver* driver, Sandbox seen, std::string reason) {
  std::optional<Decision> kept;
  Removal how;
  how.only_if = [&](const Sandbox& now) {
    // For a running sandbox the agent has just given the reason, or did not answer.
    const bool is_still_so = seen.state == SandboxState::running ? now.state == seen.state : !reason_of(now).empty();
    if (!is_still_so) kept = {Fate::kept, std::string{state_word(now.state)}};
    return is_still_so;
  };
  // On this machine a sandbox without a record has no id, and may have nothing but processes: nobody can be asked for
  // it.
  const bool is_lost = seen.id.empty() && is_of_this_machine(driver->name());
  auto removed = is_lost ? co_await driver->remove(seen.name, std::move(how))
                         : co_await driver->remove_if(seen.name, seen.id, std::move(how));
  if (!removed) co_return Decision{Fate::failed, std::move(removed.error().message)};
  if (*removed) co_return Decision{Fate::removed, std::move(reason)};
  co_return kept ? std::move(*kept) : Decision{Fate::gone};
}

bool is_to_be_asked(const Sandbox& sandbox, const Collecting& what) {
  return sandbox.state == SandboxState::running && (what.max_idle || has_outlived(sandbox, wall_now()));
}

Task<> collect_one(Driver* driver, Sandbox seen, Collecting what, Semaphore* asking, Decision* outcome) {
  std::string reason = reason_of(seen);
  if (is_to_be_asked(seen, what)) {
    const Semaphore::Permit permit = co_await asking->acquire();
    reason = co_await ask_why(driver, seen, what.max_idle);
  }
  if (reason.empty()) {
    *outcome = {Fate::kept, std::string{state_word(seen.state)}};
  } else if (what.dry_run) {
    *outcome = {Fate::removed, std::move(reason)};
  } else {
    *outcome = co_await remove_one(driver, std::move(seen), std::move(reason));
  }
}

}  // namespace

bool has_outlived(const Sandbox& sandbox, WallTime now) {
  if (!sandbox.expires_at) return false;
  const auto end = net::parse_time(*sandbox.expires_at);
  return end && now > *end + kGrace;
}

Task<Result<Collected>> collect_garbage(Driver* driver, Collecting what) {
  SandboxFilter filter{.owner = what.owner, .lost = true, .limit = std::numeric_limits<std::size_t>::max()};
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  const std::vector<Sandbox>& all = page.items;
  std::vector<Decision> outcomes(all.size());
  Semaphore asking{co_await boost::asio::this_coro::executor, kAskedAtOnce};
  // Handle all sandboxes at the same time, so that one that hangs does not delay the others.
  co_await in_parallel(all.size(), all.size(), [&](std::size_t index) {
    return collect_one(driver, all[index], what, &asking, &outcomes[index]);
  });
  Collected collected;
  collected.not_asked = std::move(page.not_asked);
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

}  // namespace skiff::container
