#include "container/kube/objects/quantity.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace skiff::kube {

std::optional<double> parse_quantity(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 16> kSuffixes{{{"", 1},
                                                                           {"n", 1e-9},
                                                                           {"u", 1e-6},
                                                                           {"m", 1e-3},
                                                                           {"k", 1e3},
                                                                           {"M", 1e6},
                                                                           {"G", 1e9},
                                                                           {"T", 1e12},
                                                                           {"P", 1e15},
                                                                           {"E", 1e18},
                                                                           {"Ki", 0x1p10},
                                                                           {"Mi", 0x1p20},
                                                                           {"Gi", 0x1p30},
                                                                           {"Ti", 0x1p40},
                                                                           {"Pi", 0x1p50},
                                                                           {"Ei", 0x1p60}}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  for (const auto& [known, factor] : kSuffixes) {
    if (suffix == known) return value * factor;
  }
  return std::nullopt;
}

}  // namespace skiff::kube
