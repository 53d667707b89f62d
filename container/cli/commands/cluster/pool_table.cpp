#include "container/cli/commands/cluster/pool_table.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

std::string table_of(const std::vector<PoolStatus>& pools) {
  std::vector<std::vector<std::string>> rows{{"NAME", "AVAILABLE", "ACTIVE", "TOTAL", "TARGET"}};
  const bool is_short = std::ranges::any_of(pools, [](const PoolStatus& pool) { return pool.missing() > 0; });
  if (is_short) rows.front().insert(rows.front().end(), {"MISSING", "WHY"});
  for (const PoolStatus& pool : pools) {
    rows.push_back({pool.name, std::to_string(pool.available), std::to_string(pool.active), std::to_string(pool.total),
                    std::to_string(pool.target)});
    if (!is_short) continue;
    rows.back().push_back(std::to_string(pool.missing()));
    rows.back().push_back(pool.reason.empty() ? "-" : pool.reason);
  }
  return format_table(rows);
}

nlohmann::json value_of(const PoolStatus& pool) {
  auto value = nlohmann::json::parse(protocol::to_json(pool));
  if (pool.reason.empty()) value.erase("reason");
  if (pool.missing() > 0) value["missing"] = pool.missing();
  return value;
}

}  // namespace

Task<Result<Pools*>> pools_of(Context* context) {
  SKIFF_CO_TRY(auto driver, co_await context->driver());
  if (Pools* const pools = driver->pools(); pools != nullptr) co_return pools;
  co_return fail(
      Errc::not_supported,
      "the " + std::string{driver->name()} + " driver has no pools: they need a cluster (`--driver pod` or `claim`)",
      "--driver");
}

Result<> show_pool(const Context& context, const PoolStatus& pool) {
  return context.show(value_of(pool), table_of({pool}), pool.name + "\n");
}

Result<> show_pools(const Context& context, const std::vector<PoolStatus>& pools) {
  nlohmann::json items = nlohmann::json::array();
  std::string names;
  for (const PoolStatus& pool : pools) {
    items.push_back(value_of(pool));
    names += pool.name + "\n";
  }
  return context.show({{"items", std::move(items)}}, table_of(pools), names);
}

}  // namespace skiff::container
