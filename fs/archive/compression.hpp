#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace skiff::fs {

enum class Compression : unsigned char { none, gzip, zstd };

/// Fills a part of `into` and returns how much; 0 is the end.
using ByteSource = std::function<Result<std::size_t>(std::span<char> into)>;
/// Takes bytes; false when nobody wants any more.
using ByteSink = std::function<bool(std::string_view bytes)>;

/// Compresses a stream as it comes. Memory: 0.3 MiB for gzip, 2 MiB for zstd.
class Compressor {
 public:
  Compressor(Compression kind, ByteSink sink);
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// `cancelled` when the sink wants no more.
  [[nodiscard]] Result<> write(std::string_view bytes);
  /// Writes what is left and the end mark. Nothing may be written after it.
  [[nodiscard]] Result<> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a stream that may be compressed with gzip or zstd, told by its first bytes; several streams in a row are one.
/// Memory: 0.2 MiB, and for zstd the window, of which at most 8 MiB are given.
class Decompressor {
 public:
  explicit Decompressor(ByteSource source);
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Fills a part of `into`; 0 is the end. `malformed_archive` for what is damaged or cut, `payload_too_large` for a
  /// window above 8 MiB; whatever the source fails with.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);
  /// Known after the first read.
  [[nodiscard]] Compression kind() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::fs
