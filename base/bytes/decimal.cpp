#include "base/bytes/decimal.hpp"

#include <algorithm>
#include <limits>

namespace skiff {

void append_decimal(std::string& out, std::int64_t value, unsigned decimals) {
  // The least number has no positive counterpart, hence unsigned.
  auto rest = static_cast<std::uint64_t>(value);
  if (value < 0) {
    out += '-';
    rest = 0 - rest;
  }
  std::string digits = std::to_string(rest);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  const std::size_t point = digits.size() - decimals;
  out.append(digits, 0, point);
  while (digits.size() > point && digits.back() == '0') digits.pop_back();
  if (digits.size() > point) out.append(1, '.').append(digits, point);
}

std::optional<std::int64_t> parse_decimal(std::string_view text, unsigned decimals) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits{text.substr(0, point)};
  std::size_t given = 0;
  if (point < text.size()) {
    digits += text.substr(point + 1);
    given = text.size() - point - 1;
    if (given == 0 || given > decimals) return std::nullopt;
  }
  if (point == 0) return std::nullopt;
  digits.append(decimals - given, '0');
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const int digit = c - '0';
    if (value > (kMost - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

}  // namespace skiff
