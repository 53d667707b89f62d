#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// The kernel's own limits (NAME_MAX, PATH_MAX without the final NUL), checked first so that every file system and
/// every way of resolving answers the same.
inline constexpr std::size_t kMostNameBytes = 255;
inline constexpr std::size_t kMostPathBytes = 4095;

/// A client's path cut at its slashes; nothing is looked up and no ".." is removed. The names point into the path.
struct SplitPath {
  std::vector<std::string_view> names;  ///< without empty ones and "."; ".." stays
  bool absolute = false;
  bool directory = false;  ///< it ends in "/", "/." or "..", or names nothing: it can only mean a directory
};

/// Errors: invalid_field (a NUL byte), name_too_long. Any other byte is a name's.
[[nodiscard]] Result<SplitPath> split_path(std::string_view path);

/// A relative path of these names, "." for none, with a slash at its end for a directory.
[[nodiscard]] std::string join(std::span<const std::string_view> names, bool directory = false);

/// For messages: the path between double quotes. Under the name `quoted` <iomanip>'s own would be found for a
/// std::string, wherever a header of the library includes it.
[[nodiscard]] std::string in_quotes(std::string_view path);

}  // namespace skiff::fs
