#pragma once

#include <cstddef>
#include <string_view>

#include "fs/archive/compression.hpp"

namespace skiff::fs {

/// The number of bytes at the start of a stream that show its compression.
inline constexpr std::size_t kCompressionMagic = 4;

[[nodiscard]] inline Compression compression_of(std::string_view start) noexcept {
  if (start.starts_with("\x1F\x8B")) return Compression::gzip;
  if (start.starts_with("\x28\xB5\x2F\xFD")) return Compression::zstd;
  // zstd frames that a decoder skips.
  const bool is_skipped =
      start.size() >= kCompressionMagic && (start[0] & 0x70) == 0x50 && start.substr(1, 3) == "\x2A\x4D\x18";
  return is_skipped ? Compression::zstd : Compression::none;
}

}  // namespace skiff::fs
