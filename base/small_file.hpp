#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace skiff {

/// The whole of a small file that configures a program (also a FIFO, as a shell's <(...) makes: it is read to its end).
/// On every way out but success what was read is wiped. Errors: those of open(2) and read(2); invalid_field above
/// `most`.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t most);

/// Overwrites `text` in a way that the compiler keeps, then empties it.
void wipe(std::string& text) noexcept;

}  // namespace skiff
