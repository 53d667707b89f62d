#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/sandbox/pools.hpp"

/// Functions that the commands of `skiff pool` share.
namespace skiff::container {

/// The pools of the selected driver; `not_supported` if it has none.
[[nodiscard]] Task<Result<Pools*>> pools_of(Context* context);

/// Prints one pool.
[[nodiscard]] Result<> show_pool(const Context& context, const PoolStatus& pool);
/// Prints a list of pools.
[[nodiscard]] Result<> show_pools(const Context& context, const std::vector<PoolStatus>& pools);

}  // namespace skiff::container
