#pragma once

#include <string_view>

namespace skiff::sessions {

/// The shared library that makes a program wait before its first instruction
/// (sessions/process/warm/static_preload.cpp), as bytes.
[[nodiscard]] std::string_view wait_library() noexcept;

}  // namespace skiff::sessions
