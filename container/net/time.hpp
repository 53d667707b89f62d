#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace skiff::net {

/// The times of the Kubernetes API: RFC 3339 with `Z` or an offset, with or without a fraction of a second
/// ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59.123456+01:00"). nullopt for another text.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

/// The form in which the API writes times: whole seconds, UTC.
[[nodiscard]] std::string format_time(WallTime time);

}  // namespace skiff::net
