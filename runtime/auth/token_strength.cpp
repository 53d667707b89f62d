#include "runtime/auth/token_strength.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/bytes/hex.hpp"
#include "base/log/log.hpp"

namespace skiff::runtime {

bool is_weak_token(std::string_view token) noexcept {
  constexpr std::size_t kLeastBits = 128;
  const bool is_hex = std::ranges::all_of(token, [](char c) { return hex_value(c) >= 0; });
  const std::size_t bits_each = is_hex ? 4 : 6;  // bits of a base64url character
  return token.size() * bits_each < kLeastBits;
}

void warn_of_weak_token(std::string_view token, std::string_view where) {
  if (!is_weak_token(token)) return;
  log::warning("a token is so short that it may be guessed: `openssl rand -hex 32` creates a good one",
               {{"where", where}});
}

void warn_of_weak_tokens(std::string_view file) {
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t number = 1; !file.empty(); ++number) {
    std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(line.size() + 1, file.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const std::string_view token = line.substr(0, line.find_first_of(kBlank));
    if (!token.empty() && token.front() != '#') {
      warn_of_weak_token(token, "--token-file, line " + std::to_string(number));
    }
  }
}

}  // namespace skiff::runtime
