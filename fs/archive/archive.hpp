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
  /// Files, directories with all that is in them, and links, relative to the directory; none: everything in the
  /// directory.
  std::vector<std::string> paths = {};
};

struct ArchiveSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;       ///< of the files
  std::uint64_t skipped = 0;     ///< sockets, FIFOs and devices
  std::uint64_t unreadable = 0;  ///< files and directories that could not be opened
};

/// Writes a tar archive of what is beneath `directory`, hidden and ignored files too, in the order of the names. Links
/// are kept as they are, hard links among the files are told as such. A file that grows while it is read is cut, one
/// that shrinks is filled with zeros. Memory is constant. Blocks; meant for a pool thread.
///
/// Before the first byte: `path_not_found`, `path_escapes_root` for a path that is absolute, holds `..` or passes a
/// link. Later `cancelled` when the sink wants no more or `stop` is requested, or `io_error`: what was written is then
/// no whole archive.
[[nodiscard]] Result<ArchiveSummary> write_archive(const UniqueFd& directory, const ArchiveOptions& options,
                                                   const std::stop_token& stop, const ByteSink& sink);

}  // namespace skiff::fs
