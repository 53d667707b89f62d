#include "runtime/api/files/byte_range.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace skiff::runtime::api {
namespace {

/// Parses a number. One that is too large becomes the largest number, which is beyond the end of any file.
std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) {
    value = std::numeric_limits<std::uint64_t>::max();
    parsed.ec = {};
  }
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

AskedRange parse_range(std::optional<std::string_view> field, std::uint64_t size) noexcept {
  const AskedRange whole{.kind = AskedRange::Kind::whole, .from = 0, .to = size};
  constexpr std::string_view kBytes = "bytes=";
  if (!field || !field->starts_with(kBytes)) return whole;
  const std::string_view text = field->substr(kBytes.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return whole;
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  if (first.empty()) {
    const auto suffix = number(last);
    if (!suffix) return whole;
    if (*suffix == 0 || size == 0) return {.kind = AskedRange::Kind::unsatisfiable};
    return {.kind = AskedRange::Kind::part, .from = size - std::min(*suffix, size), .to = size};
  }
  const auto from = number(first);
  if (!from) return whole;
  std::uint64_t to = size;
  if (!last.empty()) {
    const auto end = number(last);
    if (!end || *end < *from) return whole;
    if (*end < size) to = *end + 1;
  }
  if (*from >= size) return {.kind = AskedRange::Kind::unsatisfiable};
  return {.kind = AskedRange::Kind::part, .from = *from, .to = to};
}

}  // namespace skiff::runtime::api
