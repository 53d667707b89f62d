#pragma once

#include <string>
#include <string_view>

namespace skiff::fs {

/// Whether a file with a temporary name will replace another one or be new. A watch reads it from the name.
enum class Becomes : unsigned char { something_new, replacement };

/// Returns a unique name: ".skiff-" and 16 hex digits.
[[nodiscard]] std::string temporary_name(Becomes becomes = Becomes::something_new);
/// Whether the last name of a path has that form.
[[nodiscard]] bool is_temporary(std::string_view path) noexcept;
/// Reads from a temporary name what the file will become.
[[nodiscard]] Becomes becomes(std::string_view path) noexcept;

}  // namespace skiff::fs
