#pragma once

#include <cstdint>

namespace skiff::sessions {

/// The agent listens on addresses of 127.64.0.0/10 for servers outside of the sandbox, by their names (docs/egress.md).
/// Where servers of the sandbox are looked for, these listeners do not count.
inline constexpr std::uint32_t kNameNetwork = 0x7F400000;
inline constexpr unsigned kNameNetworkShift = 22;

/// `address` is in the byte order of the machine.
[[nodiscard]] constexpr bool is_for_a_name(std::uint32_t address) noexcept {
  return address >> kNameNetworkShift == kNameNetwork >> kNameNetworkShift;
}

}  // namespace skiff::sessions
