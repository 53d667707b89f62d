#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace skiff::protocol {

/// Parses a time of a field like Date or If-Modified-Since in the usual form (RFC 9110, 5.6.7, IMF-fixdate): "Sun, 06
/// Nov 1994 08:49:37 GMT". Returns nothing for another form; ignores the name of the day.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) noexcept;

/// Formats a time in the same form; fractions of a second are cut off.
[[nodiscard]] std::string http_date(std::chrono::sys_time<std::chrono::nanoseconds> time);

/// Formats the current time, once a second. Valid until the next call on this thread.
[[nodiscard]] std::string_view http_date_now();

}  // namespace skiff::protocol
