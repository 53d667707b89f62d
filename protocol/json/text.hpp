#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::protocol {

/// Appends `utf8` as a JSON string with its quotes (RFC 8259 section 7): `"`, `\` and the control characters below
/// U+0020 are escaped, everything else goes as it is. Clean text is copied by blocks, several GB/s, so this is the way
/// for bulk output. `utf8` must be valid UTF-8 (see `to_valid_utf8`): bytes are not checked here. Never a view into
/// `out`.
void append_json_string(std::string& out, std::string_view utf8);

/// The same without the quotes, for a string that is put together from several pieces.
void append_json_escaped(std::string& out, std::string_view utf8);

/// Whether a JSON string holds it byte by byte: printable ASCII (and U+007F) without `"` and `\`.
[[nodiscard]] bool is_plain_json(std::string_view text) noexcept;

/// Appends `"key":` with the comma that goes before it when `out` does not end in `{`.
void append_json_key(std::string& out, std::string_view key);

void append_json_integer(std::string& out, std::int64_t value);
void append_json_integer(std::string& out, std::uint64_t value);

/// A whole member, key and value. The text may come from anywhere: what is not UTF-8 becomes U+FFFD.
void append_json_text(std::string& out, std::string_view key, std::string_view text);
void append_json_number(std::string& out, std::string_view key, std::uint64_t value);
void append_json_flag(std::string& out, std::string_view key, bool value);

}  // namespace skiff::protocol
