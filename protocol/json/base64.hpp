#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Base64 (RFC 4648): section 4 with padding, and section 5 (url-safe) without.
namespace skiff::protocol {

[[nodiscard]] constexpr std::size_t base64_size(std::size_t bytes) noexcept {
  return (bytes + 2) / 3 * 4;
}

/// Appends the encoding with padding, with vector instructions where the processor has them. `bytes` must not be a view
/// into `out`.
void append_base64(std::string& out, std::string_view bytes);

[[nodiscard]] std::string encode_base64(std::string_view bytes);
[[nodiscard]] std::string encode_base64url(std::string_view bytes);

/// Decodes strictly: only the alphabet, exact padding, unused bits zero, no white space; else returns nothing.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
/// Decodes the url-safe alphabet; padding is refused.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace skiff::protocol
