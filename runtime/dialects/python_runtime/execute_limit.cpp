#include "runtime/dialects/python_runtime/execute_limit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/api/requests.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr double kUsualSeconds = 300;

std::chrono::milliseconds milliseconds_of(double seconds) {
  const double most = static_cast<double>(api::kLongestTime);
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::clamp(seconds * 1000, 1.0, most))};
}

}  // namespace

std::optional<double> seconds_of(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds <= 0) return std::nullopt;
  return seconds;
}

ExecuteLimit execute_limit(std::optional<double> timeout_seconds, std::string_view patience,
                           std::optional<double> configured) {
  ExecuteLimit limit{.time = milliseconds_of(configured.value_or(kUsualSeconds))};
  if (timeout_seconds && std::isfinite(*timeout_seconds)) {
    const auto asked = milliseconds_of(*timeout_seconds);
    if (!configured || asked < limit.time) limit = {.time = asked, .asked = true};
  }
  if (const auto seconds = seconds_of(patience)) {
    const auto longest = milliseconds_of(*seconds - std::min(*seconds / 10, 1.0));
    if (longest < limit.time) limit = {.time = longest};
  }
  return limit;
}

}  // namespace skiff::runtime::dialects::python_runtime
