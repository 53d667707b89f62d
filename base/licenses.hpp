#pragma once

#include <string>

namespace skiff {

/// Returns the license of this program and the notices of the libraries linked into it (the tree's NOTICE): text for
/// people, with a newline at its end.
[[nodiscard]] std::string licenses();

}  // namespace skiff
