#pragma once

#include <string_view>

namespace skiff::runtime {

/// The version of this build, from the project's CMakeLists.txt.
inline constexpr std::string_view kVersion = SKIFF_VERSION;

}  // namespace skiff::runtime
