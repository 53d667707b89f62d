#include "container/serve/gateway/credential_form.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/bytes/hex.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestToken = std::size_t{16} << 10U;
/// Latest time, in seconds: the year 5138. Its milliseconds fit into 64 bits.
constexpr std::int64_t kLastSecond = 100'000'000'000;
constexpr std::size_t kKeyDigits = 40;

bool is_for_us(const json& audience) {
  if (audience.is_string()) return audience == json(kTokenAudience);
  return audience.is_array() &&
         std::ranges::any_of(audience, [](const json& one) { return one == json(kTokenAudience); });
}

}  // namespace

bool holds_key(std::string_view text) noexcept {
  for (std::size_t at = text.find(kKeyPrefix); at != std::string_view::npos; at = text.find(kKeyPrefix, at + 1)) {
    const std::string_view digits = text.substr(at + kKeyPrefix.size(), kKeyDigits);
    const bool is_hex = std::ranges::all_of(digits, [](char c) { return hex_value(c) >= 0; });
    if (digits.size() == kKeyDigits && is_hex) return true;
  }
  return false;
}

bool is_signed_token(std::string_view text) noexcept {
  return std::ranges::count(text, '.') == 2;
}

std::optional<std::int64_t> end_of_account_token(std::string_view token) {
  if (token.size() > kLongestToken || !is_signed_token(token)) return std::nullopt;
  const std::size_t first = token.find('.');
  const auto payload = protocol::decode_base64url(token.substr(first + 1, token.rfind('.') - first - 1));
  if (!payload) return std::nullopt;
  const json claims = json::parse(*payload, nullptr, false);
  if (!claims.is_object() || !is_for_us(claims.value("aud", json{}))) return std::nullopt;
  const json subject = claims.value("sub", json{});
  if (!subject.is_string() || !subject.get_ref<const std::string&>().starts_with(kAccountPrefix)) return std::nullopt;
  const json end = claims.value("exp", json{});
  if (!end.is_number_integer() || end.get<std::int64_t>() < 0 || end.get<std::int64_t>() > kLastSecond) {
    return std::nullopt;
  }
  return end.get<std::int64_t>();
}

bool is_account_token(std::string_view token) {
  return end_of_account_token(token).has_value();
}

}  // namespace skiff::container::serve
