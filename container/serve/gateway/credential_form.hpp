#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The form of `skiff serve`'s credentials, whether they are valid or not.
namespace skiff::container::serve {

/// The required audience of a service account's token.
inline constexpr std::string_view kTokenAudience = "skiff";
/// The prefix of NAMESPACE:NAME in Kubernetes' names of service accounts.
inline constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
/// The prefix of an API key; 40 hexadecimal digits follow. It is the only form that every version of E2B's SDKs
/// accepts.
inline constexpr std::string_view kKeyPrefix = "e2b_";

/// True if the text contains something in the form of a key.
[[nodiscard]] bool holds_key(std::string_view text) noexcept;

/// True if the text has the form of a signed token (RFC 7519), which API keys do not have.
[[nodiscard]] bool is_signed_token(std::string_view text) noexcept;

/// The end of a service account's token for this server by its own claim (RFC 7519, 4.1.4), in seconds since 1970;
/// nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> end_of_account_token(std::string_view token);
[[nodiscard]] bool is_account_token(std::string_view token);

}  // namespace skiff::container::serve
