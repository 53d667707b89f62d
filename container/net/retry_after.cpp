#include "container/net/retry_after.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace skiff::net {

std::optional<std::chrono::milliseconds> retry_after(const protocol::Headers& headers) {
  const std::string_view text = headers.get("Retry-After");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || seconds < 0 || seconds > kMostRetryAfter.count()) return std::nullopt;
  return std::chrono::seconds{seconds};
}

}  // namespace skiff::net
