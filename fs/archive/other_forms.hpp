#pragma once

#include <string_view>

namespace skiff::fs {

/// Names the archive or compression format that files with this beginning have, if it is one that is not supported;
/// empty for any other beginning. Call it only for data that is not a tar archive: a member's name may begin the same
/// way.
[[nodiscard]] std::string_view other_form(std::string_view start) noexcept;

}  // namespace skiff::fs
