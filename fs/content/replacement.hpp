#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

struct Edit;

/// A piece of the old text and its replacement in the new text; the text between two pieces is the same in both.
struct Changed {
  std::size_t old_begin = 0;
  std::size_t old_end = 0;
  std::size_t new_begin = 0;
  std::size_t new_end = 0;
};

struct Replaced {
  std::string text;
  std::vector<Changed> changed;  ///< in order, without overlaps
};

/// Applies all edits in order. Errors: edit_not_found, invalid_field, payload_too_large (the text, or more than a
/// million occurrences).
[[nodiscard]] Result<Replaced> replace(std::string_view text, std::span<const Edit> edits);

}  // namespace skiff::fs
