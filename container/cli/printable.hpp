#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What a sandbox or a cluster says, made harmless for a terminal: its names, command lines and errors could move the
/// cursor, hide or forge lines, and write the clipboard. Only the output of commands and the contents of files are
/// shown as they are.
namespace skiff::container {

/// Control characters (C0, DEL, C1), those that change the direction of text, and bytes that are not UTF-8 as \xNN,
/// byte by byte. The result stands on one line.
[[nodiscard]] std::string printable(std::string_view text);
/// True for text that `printable` leaves as it is.
[[nodiscard]] bool is_printable(std::string_view text) noexcept;
/// The same, but for line breaks and tabs, which stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// The columns that printable text takes, as long as none of its characters is two columns wide.
[[nodiscard]] std::size_t width_of(std::string_view text) noexcept;
/// `printable`, with "..." in place of what is more than so many columns.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// JSON or double-quoted YAML with such characters as \uNNNN where the form itself would let them through (RFC 8259,
/// 7): DEL, C1 and those that change the direction.
[[nodiscard]] std::string escape_unprintable(std::string_view quoted);
/// Whether `escape_unprintable` has anything to do.
[[nodiscard]] bool needs_escape(std::string_view text) noexcept;

}  // namespace skiff::container
