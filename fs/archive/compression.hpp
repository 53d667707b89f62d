#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace skiff::fs {

enum class Compression : unsigned char { none, gzip, zstd };

/// Fills a part of `into` and returns the number of bytes; 0 is the end.
using ByteSource = std::function<Result<std::size_t>(std::span<char> into)>;
/// Takes bytes; returns false when it wants no more.
using ByteSink = std::function<bool(std::string_view bytes)>;

/// Compresses a stream piece by piece. Memory: 0.3 MiB for gzip, 2 MiB for zstd.
class Compressor {
 public:
  Compressor(Compression kind, ByteSink sink);
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// Errors: `cancelled` when the sink wants no more.
  [[nodiscard]] Result<> write(std::string_view bytes);
  /// Writes the rest and the end mark. `write` must not follow.
  [[nodiscard]] Result<> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a stream that may be compressed with gzip or zstd, detected by its first bytes. Concatenated streams count as
/// one. Memory: 0.2 MiB, and for zstd the window of at most 8 MiB.
class Decompressor {
 public:
  explicit Decompressor(ByteSource source);
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Fills a part of `into`; 0 is the end. Errors: `malformed_archive` for damaged or truncated data,
  /// `payload_too_large` for a window above 8 MiB, and those of the source.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);
  /// Valid after the first read.
  [[nodiscard]] Compression kind() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::fs
