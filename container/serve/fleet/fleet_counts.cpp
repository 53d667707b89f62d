#include "container/serve/fleet/fleet_counts.hpp"

#include <algorithm>
#include <vector>

#include "container/sandbox/sandbox.hpp"
#include "protocol/json/problem.hpp"

namespace skiff::container::serve {
namespace {

constexpr unsigned kFirstFault = 500;

std::vector<std::string_view> ends_and(std::initializer_list<std::string_view> successes) {
  std::vector<std::string_view> words{CountedEnd::kFailures.begin(), CountedEnd::kFailures.end()};
  words.insert(words.end(), successes);
  return words;
}

}  // namespace

LabelledNumbers FleetCounts::no_sandboxes() {
  std::vector<std::string_view> states;
  for (const auto& [state, word] : protocol::EnumNames<SandboxState>::values) states.push_back(word);
  return {{"tenant", "state"}, std::move(states)};
}

LabelledNumbers FleetCounts::no_pools() {
  return {{"tenant", "pool", "state"}, {"available", "starting", "missing", "taken"}};
}

FleetCounts::FleetCounts()
    : creations{{"tenant", "result"}, ends_and({"created", "existing"})},
      wakes{{"tenant", "result"}, ends_and({"woken"})},
      sandboxes{no_sandboxes()},
      pools{no_pools()} {}

void FleetCounts::know(const std::string& tenant) {
  (void)creations.of({tenant});
  (void)wakes.of({tenant});
}

void note_pool(LabelledNumbers* pools, const std::string& tenant, const PoolStatus& pool) {
  const auto row = pools->of({tenant, pool.name});
  row[0] = pool.available;
  row[1] = pool.waiting() - std::min(pool.available, pool.waiting());
  row[2] = pool.missing();
  row[3] = pool.active;
}

void CountedEnd::failed(const Error& error) noexcept {
  if (error.code == Errc::cancelled) return;
  const bool is_refusal = protocol::http_status(error.code) < kFirstFault || error.code == Errc::not_supported ||
                          error.code == Errc::draining;
  word_ = is_refusal ? 0 : 1;
}

}  // namespace skiff::container::serve
