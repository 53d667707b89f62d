#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Shell quoting, as far as shells use it in output that they can read back (XCU 2.2; bash(1) QUOTING).
namespace skiff::sessions {

/// Quotes `text` as one word for any shell, in single quotes. `text` may contain any byte but NUL.
[[nodiscard]] std::string quote_word(std::string_view text);

/// The end of the line that begins at `from`: the position of the first newline outside quotes, or the end of the text.
/// Empty when a quote is still open there.
[[nodiscard]] std::optional<std::size_t> end_of_line(std::string_view text, std::size_t from);

/// Removes the quoting of `word`: plain characters, \c, '...', "..." and $'...' in any order. Empty if `word` is not
/// exactly one literal word, because of an expansion, a space, an operator or an open quote.
[[nodiscard]] std::optional<std::string> unquote_word(std::string_view word);

/// True for a variable's name: [A-Za-z_][A-Za-z0-9_]*.
[[nodiscard]] bool is_name(std::string_view text) noexcept;

}  // namespace skiff::sessions
