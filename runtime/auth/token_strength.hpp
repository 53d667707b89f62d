#pragma once

#include <string_view>

namespace skiff::runtime {

/// Whether a token may be guessed: it is so short that it has less than 128 random bits.
[[nodiscard]] bool is_weak_token(std::string_view token) noexcept;

/// Logs a warning if the token is weak. `where` names the place of the token; the warning contains no part of it.
void warn_of_weak_token(std::string_view token, std::string_view where);
/// Logs a warning for each weak token of a token file, with its line.
void warn_of_weak_tokens(std::string_view file);

}  // namespace skiff::runtime
