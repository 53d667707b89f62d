#pragma once

#include <string_view>
#include <vector>

namespace skiff::protocol {

/// Returns the media ranges of an Accept header, without parameters, by descending weight; ranges of equal weight keep
/// their order. Ranges with the weight 0 are left out (RFC 9110, 12.4.2 and 12.5.1).
[[nodiscard]] std::vector<std::string_view> accepted_types(std::string_view accept);

}  // namespace skiff::protocol
