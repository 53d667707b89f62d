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
  std::string path = {};     ///< as it stands in the archive: any bytes but zero
  std::string target = {};   ///< of a link or hard link
  std::uint64_t size = 0;    ///< of a file
  std::uint64_t stored = 0;  ///< how much of that the archive holds: less for a sparse file
  unsigned mode = 0644;      ///< the permission bits with set-uid, set-gid and sticky
  std::int64_t seconds = 0;  ///< of the last change, since 1970
  std::uint32_t nanoseconds = 0;
  std::uint32_t uid = 0, gid = 0;
};

/// Writes tar archives as POSIX (pax) has them: a name above 100 bytes, a large number or a fraction of a second goes
/// into an extended header, so that everything is kept.
class TarWriter {
 public:
  using Out = std::function<Result<>(std::string_view)>;
  explicit TarWriter(Out out);

  /// Begins a member; exactly `entry.size` bytes of content follow by `write`.
  [[nodiscard]] Result<> begin(const TarEntry& entry);
  [[nodiscard]] Result<> write(std::string_view content);
  /// Writes the end mark.
  [[nodiscard]] Result<> finish();

 private:
  Out out_;
  std::uint64_t left_ = 0;   // content that must follow
  std::size_t padding_ = 0;  // behind it
};

/// Reads tar archives: ustar, pax, and GNU's long names, large numbers, sparse files, labels and lists of directories.
/// Strict: what contradicts itself is refused (`malformed_archive`), and what it doesn't know is `not_supported`.
/// Memory: a few KiB, and up to 2 MiB for the map of a sparse file.
class TarReader {
 public:
  static constexpr std::size_t kLongestPath = 4095;
  static constexpr std::size_t kLongestHeader = std::size_t{1} << 20U;  ///< of extended headers

  explicit TarReader(ByteSource source);

  /// The next member, or nothing behind the last. What was not read of the one before is passed over.
  [[nodiscard]] Result<std::optional<TarEntry>> next();
  /// Reads from the content of the member; 0 is its end. Holes of a sparse file are passed over: `offset()` is where
  /// in the file the next bytes belong.
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
  bool is_first_ = true;  // header
  std::uint64_t left_ = 0;
  std::size_t padding_ = 0;
  std::vector<TarPiece> pieces_;  // of a sparse file
  std::size_t piece_ = 0;         // which of them comes next
  std::uint64_t offset_ = 0;      // in that one, or in a file that is not sparse
};

}  // namespace skiff::fs
