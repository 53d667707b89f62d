#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "fs/content/replacement.hpp"

namespace skiff::fs {

inline constexpr std::size_t kMostDiffBytes = 1 << 20;

struct Diff {
  std::string text;
  bool cut = false;  ///< whole hunks at the end are left out
};

/// Returns the unified diff of two texts in the format of patch(1) and git: three lines of context, `a/` and `b/`
/// before the name. `changed` lists the differences, as `replace` returns them, so only equal lines within a changed
/// piece are searched for. Empty when the texts are equal.
[[nodiscard]] Diff unified_diff(std::string_view name, std::string_view old_text, std::string_view new_text,
                                std::span<const Changed> changed, std::size_t most_bytes = kMostDiffBytes);

}  // namespace skiff::fs
