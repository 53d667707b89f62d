#pragma once

#include <string_view>

namespace skiff::fs {

/// The name of a form of archives or of compression that is not read here, by how its files begin; empty: it is none of
/// those. For what has been found to be no tar archive: a member's name may begin so, too.
[[nodiscard]] std::string_view other_form(std::string_view start) noexcept;

}  // namespace skiff::fs
