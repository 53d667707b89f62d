#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// How results are printed.
namespace skiff::container {

/// The escape sequence that colours a cell, for example "\033[32m"; empty for most cells.
using CellColour = std::function<std::string_view(std::size_t row, std::size_t column)>;

/// Formats columns as wide as their widest cell, separated by two spaces. Cells pass through `printable`.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows,
                                       const CellColour& colour = {});

/// YAML in block style, with keys in their order. Neither it nor `format_json` contains characters that control a
/// terminal.
[[nodiscard]] std::string format_yaml(const nlohmann::json& value);

/// Indented JSON with a newline at its end.
[[nodiscard]] std::string format_json(const nlohmann::json& value);

/// "3s", "12m", "5h", "9d": the largest unit of which there are at least two, as kubectl shows ages; never below 0s.
[[nodiscard]] std::string format_duration(long long ms);

/// The time since an RFC 3339 time; "-" for an invalid one. `now_ms` counts from 1970.
[[nodiscard]] std::string format_age(std::string_view time, long long now_ms);

/// "512B", "1.4MiB".
[[nodiscard]] std::string format_size(unsigned long long bytes);

/// Milliseconds since 1970 of an RFC 3339 time; -1 for anything else.
[[nodiscard]] long long unix_ms(std::string_view time);

/// Writes all bytes; waits for room if another program has made the descriptor non-blocking. Returns an errno value, or
/// 0.
[[nodiscard]] int write_all(int fd, std::string_view bytes) noexcept;
/// Writes the whole text to stdout unchanged. If stdout is no longer read, skiff ends by SIGPIPE, like any program.
[[nodiscard]] Result<> print(std::string_view text);
/// Ends skiff as SIGPIPE does by default.
void end_by_broken_pipe() noexcept;
/// Prints a message to stderr after "skiff: ", through `printable_lines`. Further lines are indented, so that they
/// cannot be taken for messages of skiff.
void say(std::string_view message);

}  // namespace skiff::container
