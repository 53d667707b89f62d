#pragma once

#include <string_view>

namespace skiff::fs {

/// Returns the name of the unsupported archive or compression format whose signature `start` begins with, and
/// empty for any other beginning. Call it only for data that is not a tar archive: a member's name may begin the same
/// way.
[[nodiscard]] std::string_view other_form(std::string_view start) noexcept;

}  // namespace skiff::fs
