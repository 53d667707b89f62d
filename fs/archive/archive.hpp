#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/archive/compression.hpp"

namespace skiff::fs {

struct ArchiveOptions {
  Compression compression = Compression::none;
  /// Files, directories with their contents, and links, relative to the directory; empty: everything in the directory.
  std::vector<std::string> paths = {};
  /// If something was left out, the archive breaks off before its end mark. For clients that cannot be told otherwise.
  bool whole_or_cut = false;
  /// When the archive has everything in a directory: it begins with the directory itself, as `./`, for its mode and
  /// time.
  bool with_itself = false;
};

struct ArchiveSummary {
  enum class Why : unsigned char {
    unreadable,  ///< it could not be opened or read to its end
    vanished,    ///< it was gone, or another kind of object, when its turn came
    changed,     ///< the file has become shorter; zeros fill its end
  };
  struct LeftOut {
    Why why;
    std::string path;
  };
  static constexpr std::size_t kMostNamed = 10;

  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;          ///< bytes of the files
  std::uint64_t left_out = 0;       ///< entries that are missing or incomplete
  std::uint64_t special = 0;        ///< sockets, FIFOs, devices and virtual file systems, which no archive holds
  std::vector<LeftOut> first = {};  ///< the first entries that were left out
};

/// Writes a tar archive of everything beneath `directory`, including hidden and ignored files, sorted by name. Links
/// are stored as links, hard links among the files as hard links. A file that grows while it is read is truncated;
/// missing and incomplete entries are counted. Memory is constant. Blocks; meant for a pool thread.
///
/// Errors before the first byte: `path_not_found`; `path_escapes_root` for a path that is absolute, holds `..` or
/// passes a link; `permission_denied` and others for one of `paths` that cannot be read. Later errors leave an
/// incomplete archive: `cancelled` when the sink refuses more bytes or `stop` is requested, or `io_error`.
[[nodiscard]] Result<ArchiveSummary> write_archive(const UniqueFd& directory, const ArchiveOptions& options,
                                                   const std::stop_token& stop, const ByteSink& sink);

}  // namespace skiff::fs
