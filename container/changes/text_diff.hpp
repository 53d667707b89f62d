#pragma once

#include <string>

#include "base/error.hpp"
#include "container/changes/change.hpp"
#include "container/changes/workspace.hpp"

namespace skiff::container::changes {

/// Largest file that is shown as a diff, in bytes.
inline constexpr std::uint64_t kMostShown = std::uint64_t{1} << 20U;

enum class Shown : std::uint8_t { text, binary, too_large, nothing };

struct TextDiff {
  std::string text;  ///< as git writes it: `git apply` takes it
  Shown shown = Shown::text;
};

/// The difference of a file or link. Special files, and directories that are gone, have none. Errors: those of reading.
[[nodiscard]] Result<TextDiff> text_diff(const Workspace& workspace, const Change& change);

}  // namespace skiff::container::changes
