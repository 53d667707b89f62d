#pragma once

#include <cstdint>

namespace skiff::container::box {

/// The user and group on this machine that a box runs as.
struct Ids {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

/// The ids of a new box: our own; for root a number that no user and no other box is likely to have
/// (docs/adr/0034). In a user namespace without such numbers, root is an ordinary user.
[[nodiscard]] Ids new_ids();

}  // namespace skiff::container::box
