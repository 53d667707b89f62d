#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace skiff {

/// Reads a small configuration file whole (also a FIFO, as a shell's <(...) makes: it is read to its end). Every exit
/// but success wipes the bytes that were read. Errors: those of open(2) and read(2); invalid_field above `most` bytes.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t most);

/// Overwrites `text` with writes that the compiler cannot remove, then empties it.
void wipe(std::string& text) noexcept;

}  // namespace skiff
