#pragma once

#include <string>

namespace skiff {

/// Under which license this program is, and the notices of what is linked into it (the tree's NOTICE): text for people,
/// with a newline at its end.
[[nodiscard]] std::string licenses();

}  // namespace skiff
