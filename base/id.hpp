#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace skiff {

/// Returns true for `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, the form of every id that a client may choose.
[[nodiscard]] bool is_valid_id(std::string_view text) noexcept;

/// Returns a new id: `prefix` and 20 characters. They encode 50 bits of milliseconds, then 50 random bits, in base 32,
/// so ids sort by time and do not repeat. Valid by `is_valid_id`. Thread-safe.
[[nodiscard]] std::string new_id(std::string_view prefix);

/// Fills `out` from getrandom(2), which does not fail once the system is up.
void random_bytes(std::span<std::byte> out);

}  // namespace skiff
