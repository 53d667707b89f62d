#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// The kernel's own limits (NAME_MAX, PATH_MAX without the final NUL). They are checked first, so that all file systems
/// and all ways of resolving return the same error.
inline constexpr std::size_t kMostNameBytes = 255;
inline constexpr std::size_t kMostPathBytes = 4095;

/// A client's path, split at its slashes. Nothing is looked up and no ".." is removed. The names point into the path.
struct SplitPath {
  std::vector<std::string_view> names;  ///< without empty names and "."; ".." stays
  bool absolute = false;
  bool directory = false;  ///< the path ends in "/", "/." or "..", or is empty: it must mean a directory
};

/// Errors: invalid_field (a NUL byte), name_too_long. Any other byte may be part of a name.
[[nodiscard]] Result<SplitPath> split_path(std::string_view path);

/// Joins names to a relative path; "." for none, with a slash at its end for a directory.
[[nodiscard]] std::string join(std::span<const std::string_view> names, bool directory = false);

/// Returns the path in double quotes, for messages. It is not named `quoted`, because <iomanip>'s function of that name
/// would be found for a std::string.
[[nodiscard]] std::string in_quotes(std::string_view path);

}  // namespace skiff::fs
