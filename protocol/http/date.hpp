#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace skiff::protocol {

/// The time of a field like Date or If-Modified-Since in the form that everybody sends (RFC 9110, 5.6.7, IMF-fixdate):
/// "Sun, 06 Nov 1994 08:49:37 GMT". Nothing if it is not one; what the day is called is not looked at.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) noexcept;

/// The same form of a time.
[[nodiscard]] std::string http_date(std::chrono::sys_seconds time);

/// That of the current time, made once a second. Valid until the next call on this thread.
[[nodiscard]] std::string_view http_date_now();

}  // namespace skiff::protocol
