#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The quoting of shells, as far as they use it when they print what they can read again (XCU 2.2; bash(1) QUOTING).
namespace skiff::sessions {

/// `text` as one word of any shell, in single quotes. It may hold anything but NUL.
[[nodiscard]] std::string quote_word(std::string_view text);

/// Where the line that begins at `from` ends: the place of the first newline that stands in no quotes, or the text's
/// end. Nothing when a quote is still open there.
[[nodiscard]] std::optional<std::size_t> end_of_line(std::string_view text, std::size_t from);

/// What a shell makes of `word`: plain characters, \c, '...', "..." and $'...' in any order. Nothing for what is not
/// exactly one word that stands for itself: an expansion, a space, an operator, an open quote.
[[nodiscard]] std::optional<std::string> unquote_word(std::string_view word);

/// A variable's name: [A-Za-z_][A-Za-z0-9_]*.
[[nodiscard]] bool is_name(std::string_view text) noexcept;

}  // namespace skiff::sessions
