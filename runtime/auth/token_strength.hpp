#pragma once

#include <string_view>

namespace skiff::runtime {

/// Whether a token may be found by trying: it is so short that it has less than 128 bits, whatever made it.
[[nodiscard]] bool is_weak_token(std::string_view token) noexcept;

/// Logs a warning if it is. `where` says where the token stands; nothing of the token is told.
void warn_of_weak_token(std::string_view token, std::string_view where);
/// The same of each token of a token file, by its line.
void warn_of_weak_tokens(std::string_view file);

}  // namespace skiff::runtime
