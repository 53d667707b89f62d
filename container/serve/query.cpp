#include "container/serve/query.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace skiff::container::serve {

Result<std::size_t> limit_of(const protocol::Target& target, std::size_t most) {
  SKIFF_TRY(auto limit, number_of(target, "limit", 1, most));
  return limit.value_or(most);
}

Result<std::optional<std::size_t>> number_of(const protocol::Target& target, std::string_view name, std::size_t least,
                                             std::size_t most) {
  const auto text = target.parameter(name);
  if (!text) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool is_one = error == std::errc{} && end == text->data() + text->size();
  if (is_one && number >= least && number <= most) return number;
  return fail(Errc::invalid_field, "expected a number from " + std::to_string(least) + " to " + std::to_string(most),
              std::string{name});
}

Result<std::string> idempotency_key_of(const protocol::Headers& headers) {
  constexpr std::size_t kLongest = 255;
  constexpr std::string_view kField = "Idempotency-Key";
  const std::string_view key = headers.get(kField);
  const bool is_visible = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (headers.count(kField) > 1 || key.size() > kLongest || !is_visible) {
    return fail(Errc::invalid_field, "expected one key of at most 255 visible characters", std::string{kField});
  }
  return std::string{key};
}

Result<std::map<std::string, std::string>> parse_pairs_of(std::string_view text) {
  std::map<std::string, std::string> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    SKIFF_TRY(auto name, protocol::percent_decode(pair.substr(0, equals), protocol::Plus::is_space));
    SKIFF_TRY(auto value,
              protocol::percent_decode(pair.substr(std::min(equals + 1, pair.size())), protocol::Plus::is_space));
    if (!name.empty()) pairs[std::move(name)] = std::move(value);
  }
  return pairs;
}

}  // namespace skiff::container::serve
