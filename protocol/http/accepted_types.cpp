#include "protocol/http/accepted_types.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/bytes/decimal.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {
namespace {

constexpr std::int64_t kFullWeight = 1000;

/// Takes the text before the next `separator` from the front of `rest`, without the white space around it.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  while (taken.starts_with(' ') || taken.starts_with('\t')) taken.remove_prefix(1);
  while (taken.ends_with(' ') || taken.ends_with('\t')) taken.remove_suffix(1);
  return taken;
}

/// Returns the weight in thousandths; an invalid weight is ignored.
std::int64_t weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = take_until(parameters, ';');
    if (!same_text(parameter.substr(0, 2), "q=")) continue;
    return parse_decimal(parameter.substr(2), 3).value_or(kFullWeight);
  }
  return kFullWeight;
}

}  // namespace

std::vector<std::string_view> accepted_types(std::string_view accept) {
  std::vector<std::pair<std::int64_t, std::string_view>> ranges;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = take_until(parameters, ';');
    const std::int64_t weight = weight_of(parameters);
    if (!type.empty() && weight > 0) ranges.emplace_back(weight, type);
  }
  // All types point into the header, so their addresses give the order.
  std::ranges::sort(ranges, [](const auto& one, const auto& other) {
    return one.first != other.first ? one.first > other.first : one.second.data() < other.second.data();
  });
  std::vector<std::string_view> types;
  types.reserve(ranges.size());
  for (const auto& range : ranges) types.push_back(range.second);
  return types;
}

}  // namespace skiff::protocol
