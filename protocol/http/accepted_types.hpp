#pragma once

#include <string_view>
#include <vector>

namespace skiff::protocol {

/// The media ranges of an Accept header, without parameters, those first that the client likes best; of equal ones the
/// one that it named first. What it gives the weight 0 is left out (RFC 9110, 12.4.2 and 12.5.1).
[[nodiscard]] std::vector<std::string_view> accepted_types(std::string_view accept);

}  // namespace skiff::protocol
