#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/sandbox/pools.hpp"

/// What the commands of `skiff pool` have in common.
namespace skiff::container {

/// The pools of the driver that was asked for; `not_supported` when it has none.
[[nodiscard]] Task<Result<Pools*>> pools_of(Context* context);

/// Prints one pool.
[[nodiscard]] Result<> show_pool(const Context& context, const PoolStatus& pool);
/// Prints a list of them.
[[nodiscard]] Result<> show_pools(const Context& context, const std::vector<PoolStatus>& pools);

}  // namespace skiff::container
