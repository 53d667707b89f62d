#pragma once

#include <string>
#include <string_view>

namespace skiff::fs {

/// Whether what has a temporary name will take the place of something, or be something new. A watch tells by the name.
enum class Becomes : unsigned char { something_new, replacement };

/// A name that no one else uses: ".skiff-" and 16 hex digits.
[[nodiscard]] std::string temporary_name(Becomes becomes = Becomes::something_new);
/// Whether the last name of a path is of that form.
[[nodiscard]] bool is_temporary(std::string_view path) noexcept;
/// What the bearer of such a name becomes.
[[nodiscard]] Becomes becomes(std::string_view path) noexcept;

}  // namespace skiff::fs
