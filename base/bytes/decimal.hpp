#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers with decimals, by integer arithmetic: the precision of all numbers here is known, and the standard library's
/// conversions of doubles add 125 KB to a static binary.
namespace skiff {

/// Appends `value` / 10^`decimals` without trailing zeros: 1250 with 3 decimals is "1.25". At most 18 decimals.
void append_decimal(std::string& out, std::int64_t value, unsigned decimals);

/// Parses such a number: "1.25" with 3 decimals is 1250. Returns nothing for a text of another form
/// (-?[0-9]+([.][0-9]+)?), with more decimals, or too large.
[[nodiscard]] std::optional<std::int64_t> parse_decimal(std::string_view text, unsigned decimals);

}  // namespace skiff
