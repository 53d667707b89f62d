#pragma once

#include <algorithm>
#include <string_view>

namespace skiff {

/// Returns the text without the spaces and tabs at its ends (OWS of RFC 9110, 5.6.3).
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

}  // namespace skiff
