#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::protocol {

/// Appends `utf8` as a JSON string with its quotes (RFC 8259 section 7): `"`, `\` and the control characters below
/// U+0020 are escaped, and U+0085, U+2028 and U+2029, at which some readers cut lines. Clean text is copied by blocks
/// at several GB/s. `utf8` must be valid UTF-8 (see `to_valid_utf8`), which is not checked, and not a view into `out`.
void append_json_string(std::string& out, std::string_view utf8);

/// As `append_json_string` without the quotes, for a string that consists of several pieces.
void append_json_escaped(std::string& out, std::string_view utf8);

/// Whether a JSON string holds the text unchanged: printable ASCII (and U+007F) without `"` and `\`.
[[nodiscard]] bool is_plain_json(std::string_view text) noexcept;

/// Appends `"key":`, with a comma before it unless `out` ends in `{`.
void append_json_key(std::string& out, std::string_view key);

void append_json_integer(std::string& out, std::int64_t value);
void append_json_integer(std::string& out, std::uint64_t value);

/// Appends a whole member, key and value. Invalid UTF-8 in the text becomes U+FFFD.
void append_json_text(std::string& out, std::string_view key, std::string_view text);
void append_json_number(std::string& out, std::string_view key, std::uint64_t value);
void append_json_flag(std::string& out, std::string_view key, bool value);

}  // namespace skiff::protocol
