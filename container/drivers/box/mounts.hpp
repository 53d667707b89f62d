#pragma once

#include <vector>

#include "base/unique_fd.hpp"
#include "container/drivers/box/plan.hpp"

namespace skiff::container::box {

/// Detached copies of the mounts that a plan names, in its order.
struct Trees {
  std::vector<UniqueFd> binds;
  std::vector<UniqueFd> devices;  ///< in the order of `kDevices`; empty: this machine has no such device
  std::vector<UniqueFd> sources;  ///< of the overlays
  std::vector<UniqueFd> layers;   ///< of the overlays; empty: read-only
};

/// Copies the mounts. It needs the rights of a mount namespace: those of root before the namespaces are created, or
/// those of their creator afterwards. With `as_root` the owner of an overlay's source is shown as the user of the box.
[[nodiscard]] Trees open_trees(const Plan& plan, bool as_root);

/// The trees in one list, for a handover; and the trees of such a list, which must be that of the plan.
[[nodiscard]] std::vector<UniqueFd> to_list(Trees trees);
[[nodiscard]] Trees from_list(const Plan& plan, std::vector<UniqueFd> list);

/// Makes the root directory of the box from the trees, in the current mount namespace, and changes to it.
void build_root(const Plan& plan, const Trees& trees);

}  // namespace skiff::container::box
