#include "container/agent/copy/left_out.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

std::uint64_t count_of(const protocol::Headers& trailers, std::string_view name) {
  const std::string_view text = trailers.get(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

/// "REASON PATH", the path percent-encoded.
std::string line_of_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kReasons{
      {{"unreadable", "it could not be read"},
       {"vanished", "it was removed or replaced while it was copied"},
       {"changed", "it shrank while it was copied: its end is zeros"}}};
  const std::size_t space = std::min(name.find(' '), name.size());
  const std::string_view reason = name.substr(0, space);
  const auto known = std::ranges::find(kReasons, reason, [](const auto& one) { return one.first; });
  const std::string path = protocol::percent_decode(name.substr(std::min(space + 1, name.size()))).value_or("");
  return path + ": " + std::string{known == kReasons.end() ? reason : known->second};
}

}  // namespace

void note_left_out(const protocol::Headers& trailers, TarSummary& summary) {
  const std::uint64_t number = count_of(trailers, "X-Skiff-Left-Out");
  summary.skipped += count_of(trailers, "X-Skiff-Special-Files");
  summary.missing += number;
  std::string_view names = trailers.get("X-Skiff-Left-Out-Names");
  while (number > 0 && !names.empty() && summary.missing_shown.size() < TarSummary::kMostShown) {
    const std::string_view one = names.substr(0, names.find(", "));
    summary.missing_shown.push_back(line_of_name(one));
    names.remove_prefix(std::min(one.size() + 2, names.size()));
  }
}

}  // namespace skiff::container
