#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Makes texts from a sandbox or cluster harmless for a terminal: names, command lines and errors could move the
/// cursor, hide or forge lines, and write to the clipboard. Only the output of commands and the contents of files are
/// printed unchanged.
namespace skiff::container {

/// Replaces control characters (C0, DEL, C1), characters that change the direction of text, and bytes that are not
/// UTF-8 by \xNN for each byte. The result has one line.
[[nodiscard]] std::string printable(std::string_view text);
/// True for text that `printable` leaves as it is.
[[nodiscard]] bool is_printable(std::string_view text) noexcept;
/// Like `printable`, but keeps line breaks and tabs.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// The number of columns of a printable text without characters that are two columns wide.
[[nodiscard]] std::size_t width_of(std::string_view text) noexcept;
/// Like `printable`, with "..." for the part beyond `columns`.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// Replaces such characters in JSON or double-quoted YAML by \uNNNN if the format itself allows them (RFC 8259, 7):
/// DEL, C1 and those that change the direction.
[[nodiscard]] std::string escape_unprintable(std::string_view quoted);
/// True if `escape_unprintable` would change the text.
[[nodiscard]] bool needs_escape(std::string_view text) noexcept;

}  // namespace skiff::container
