#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers with decimals, by integer arithmetic: what the agent writes and reads has a known precision, and the
/// standard library's conversions of doubles are 125 KB of a static binary.
namespace skiff {

/// Appends `value` / 10^`decimals` without zeros at its end: 1250 with 3 decimals is "1.25". At most 18 decimals.
void append_decimal(std::string& out, std::int64_t value, unsigned decimals);

/// The way back: "1.25" with 3 decimals is 1250. Nothing for what is no such number (-?[0-9]+([.][0-9]+)?), has more
/// decimals, or does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_decimal(std::string_view text, unsigned decimals);

}  // namespace skiff
