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

/// What a terminal is told before a cell, as "\033[32m"; empty for most.
using CellColour = std::function<std::string_view(std::size_t row, std::size_t column)>;

/// Columns as wide as their widest cell, two spaces between. Cells are shown as `printable` has them.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows,
                                       const CellColour& colour = {});

/// Block style; keys in their order. Nothing in it controls a terminal, nor in JSON.
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

/// Writes all of it, waiting for room where another program has made the descriptor non-blocking. Gives an errno value,
/// 0 when all is well.
[[nodiscard]] int write_all(int fd, std::string_view bytes) noexcept;
/// Writes to stdout, all of it, as it is. When nobody reads it any more skiff ends as any program does, by SIGPIPE.
[[nodiscard]] Result<> print(std::string_view text);
/// What a program does by default that writes to a pipe which nobody reads.
void end_by_broken_pipe() noexcept;
/// A message to stderr, beginning with "skiff: ", as `printable_lines` has it. Further lines are indented: none of them
/// can be taken for one that skiff says.
void say(std::string_view message);

}  // namespace skiff::container
