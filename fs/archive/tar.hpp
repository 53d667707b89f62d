#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fs/archive/compression.hpp"
#include "fs/archive/tar_sparse.hpp"

namespace skiff::fs {

/// One member of a tar archive.
struct TarEntry {
  enum class Kind : std::uint8_t { file, directory, link, hard_link, other } kind = Kind::file;
  std::string path = {};     ///< as in the archive: any bytes but zero
  std::string target = {};   ///< target of a link or hard link
  std::uint64_t size = 0;    ///< size of a file
  std::uint64_t stored = 0;  ///< bytes of content in the archive; less than `size` for a sparse file
  unsigned mode = 0644;      ///< permission bits with set-uid, set-gid and sticky
  std::int64_t seconds = 0;  ///< time of the last change, since 1970
  std::uint32_t nanoseconds = 0;
  std::uint32_t uid = 0, gid = 0;
};

/// Writes tar archives in POSIX (pax) format: an extended header holds a name above 100 bytes, a large number or a
/// fraction of a second, so nothing is lost.
class TarWriter {
 public:
  using Out = std::function<Result<>(std::string_view)>;
  explicit TarWriter(Out out);

  /// Begins a member; exactly `entry.size` bytes of content must follow by `write`.
  [[nodiscard]] Result<> begin(const TarEntry& entry);
  [[nodiscard]] Result<> write(std::string_view content);
  /// Writes the end mark.
  [[nodiscard]] Result<> finish();

 private:
  Out out_;
  std::uint64_t left_ = 0;   // content bytes that must follow
  std::size_t padding_ = 0;  // padding after the content
};

/// Reads tar archives: ustar, pax, and GNU's long names, large numbers, sparse files, labels and lists of directories.
/// Strict: it refuses contradictions (`malformed_archive`) and unknown features (`not_supported`). Memory: a few KiB,
/// and up to 2 MiB for the map of a sparse file.
class TarReader {
 public:
  static constexpr std::size_t kLongestPath = 4095;
  static constexpr std::size_t kLongestHeader = std::size_t{1} << 20U;  ///< limit for extended headers

  /// Passes over bytes of the source. Where the source ends before, the next read shows it.
  using Skip = std::function<void(std::uint64_t count)>;
  /// Without `skip`, content that is not wanted is read.
  explicit TarReader(ByteSource source, Skip skip = {});

  /// Returns the next member, or nothing after the last one. Skips the unread content of the member before.
  [[nodiscard]] Result<std::optional<TarEntry>> next();
  /// Reads from the content of the member; 0 is its end. Holes of a sparse file are skipped: `offset()` is the position
  /// of the next bytes in the file.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);
  [[nodiscard]] std::uint64_t offset() const noexcept {
    return offset_ + (piece_ < pieces_.size() ? pieces_[piece_].offset : 0);
  }

 private:
  struct Extended;
  [[nodiscard]] Result<bool> read_block(std::span<char> block);
  [[nodiscard]] Result<std::string> read_extra(std::uint64_t size);
  [[nodiscard]] Result<> skip();
  [[nodiscard]] Result<std::optional<TarEntry>> entry_of(std::span<const char> block, Extended& extended);
  [[nodiscard]] Result<> read_map(std::span<const char> block, TarSparse& sparse);

  ByteSource source_;
  Skip skip_source_;
  bool is_first_ = true;  // whether the next header is the first
  std::uint64_t left_ = 0;
  std::size_t padding_ = 0;
  std::vector<TarPiece> pieces_;  // pieces of a sparse file
  std::size_t piece_ = 0;         // index of the next piece
  std::uint64_t offset_ = 0;      // position in that piece, or in a file that is not sparse
};

}  // namespace skiff::fs
