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
  /// When something was left out, the archive breaks off before its end mark: for who could not be told otherwise.
  bool whole_or_cut = false;
};

struct ArchiveSummary {
  enum class Why : unsigned char {
    unreadable,  ///< could not be opened, or not be read to its end
    vanished,    ///< was gone, or something else, when its turn came
    changed,     ///< a file that had become shorter: its end is zeros
  };
  struct LeftOut {
    Why why;
    std::string path;
  };
  static constexpr std::size_t kMostNamed = 10;

  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;          ///< of the files
  std::uint64_t left_out = 0;       ///< what is missing, or not whole
  std::uint64_t special = 0;        ///< sockets, FIFOs, devices and virtual file systems, which no archive holds
  std::vector<LeftOut> first = {};  ///< of those that were left out
};

/// Writes a tar archive of what is beneath `directory`, hidden and ignored files too, in the order of the names. Links
/// are kept as they are, hard links among the files are told as such. A file that grows while it is read is cut; what
/// is missing or not whole is counted. Memory is constant. Blocks; meant for a pool thread.
///
/// Before the first byte: `path_not_found`, `path_escapes_root` for a path that is absolute, holds `..` or passes a
/// link; `permission_denied` and others for one of `paths` that can't be read. Later `cancelled` when the sink wants no
/// more or `stop` is requested, or `io_error`: what was written is then no whole archive.
[[nodiscard]] Result<ArchiveSummary> write_archive(const UniqueFd& directory, const ArchiveOptions& options,
                                                   const std::stop_token& stop, const ByteSink& sink);

}  // namespace skiff::fs
