#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// How results are printed.
namespace skiff::container {

/// Columns as wide as their widest cell, two spaces between; cells never hold a line break, but may hold colours.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// Block style; keys in their order.
[[nodiscard]] std::string format_yaml(const nlohmann::json& value);

/// Indented, with a newline at its end.
[[nodiscard]] std::string format_json(const nlohmann::json& value);

/// "3s", "12m", "5h", "9d": the largest unit of which there are at least two, as kubectl shows ages; never below 0s.
[[nodiscard]] std::string format_duration(long long ms);

/// The time since an RFC 3339 time; "-" for what is none. `now_ms` since 1970.
[[nodiscard]] std::string format_age(std::string_view time, long long now_ms);

/// "512B", "1.4MiB".
[[nodiscard]] std::string format_size(unsigned long long bytes);

/// Milliseconds since 1970 of an RFC 3339 time; -1 for anything else.
[[nodiscard]] long long unix_ms(std::string_view time);

/// Writes to stdout, all of it. When nobody reads it any more skiff ends as any program does, by SIGPIPE.
[[nodiscard]] Result<> print(std::string_view text);
/// One line to stderr, beginning with "skiff: ".
void say(std::string_view line);

}  // namespace skiff::container
