#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What credentials of `skiff serve` look like, whether they are good or not.
namespace skiff::container::serve {

/// Whom a token of a service account must have been made for.
inline constexpr std::string_view kTokenAudience = "skiff";
/// Before NAMESPACE:NAME, as Kubernetes calls its service accounts.
inline constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
/// Of an API key; 40 hexadecimal digits follow. It is the one form that every version of E2B's SDKs takes.
inline constexpr std::string_view kKeyPrefix = "e2b_";

/// Whether there is something in the text that has the form of a key.
[[nodiscard]] bool holds_key(std::string_view text) noexcept;

/// Whether the text has the form of a signed token (RFC 7519), which no API key has.
[[nodiscard]] bool is_signed_token(std::string_view text) noexcept;

/// When a service account's token for this server ends by what it says itself (RFC 7519, 4.1.4), in seconds since 1970;
/// nothing for any other text.
[[nodiscard]] std::optional<std::int64_t> end_of_account_token(std::string_view token);
[[nodiscard]] bool is_account_token(std::string_view token);

}  // namespace skiff::container::serve
