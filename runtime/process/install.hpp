#pragma once

#include <span>

namespace skiff::runtime {

/// `skiffd install DIRECTORY`: copies the running program to DIRECTORY/skiffd, whole or not at all, so that an init
/// container can put it into a volume. Returns the exit status; the reason for a failure is on stderr.
[[nodiscard]] int install(std::span<const char* const> arguments);

}  // namespace skiff::runtime
