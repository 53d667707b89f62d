#include "protocol/http/traceparent.hpp"

#include <algorithm>

namespace skiff::protocol {
namespace {

constexpr std::size_t kLength = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2
constexpr unsigned kSampled = 1;     // the only flag of version 00

bool is_hex(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::string valid_traceparent(std::string_view given) {
  if (given.size() < kLength) return {};
  const std::string_view version = given.substr(0, 2);
  const std::string_view trace = given.substr(3, 32);
  const std::string_view parent = given.substr(36, 16);
  const std::string_view flags = given.substr(53, 2);
  if (given[2] != '-' || given[35] != '-' || given[52] != '-') return {};
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(flags)) return {};
  if (version == "ff" || is_zero(trace) || is_zero(parent)) return {};
  // Version 00 ends here; a newer one may continue after another dash.
  if (given.size() > kLength && (version == "00" || given[kLength] != '-')) return {};
  if (version == "00") return std::string{given};
  const char last = flags[1];
  const unsigned digit = static_cast<unsigned>(last <= '9' ? last - '0' : last - 'a' + 10);
  std::string text{"00-"};
  text += given.substr(3, kLength - 5);
  text += (digit & kSampled) != 0 ? "01" : "00";
  return text;
}

}  // namespace skiff::protocol
