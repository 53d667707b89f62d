#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/archive/compression.hpp"

namespace skiff::fs {

struct ExtractOptions {
  std::uint64_t most_bytes = std::uint64_t{16} << 30U;  ///< of the files when unpacked, and of what is packed
  std::uint64_t most_entries = 1'000'000;
  bool keep_set_id = false;  ///< set-uid and set-gid bits; they are dropped otherwise
};

struct ExtractSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< of the files
};

/// Unpacks a tar archive, plain or in gzip or zstd as its bytes tell, into `directory`. All of it is checked before
/// anything is written; the bytes wait in a file without a name in the same file system. Modes (without umask) and
/// times are kept. A file or link that exists is replaced, a directory is used. Memory: some 20 bytes a member, and the
/// paths of the directories. Blocks; meant for a pool thread.
///
/// Refused, with nothing written: a member that is absolute, holds `..`, or would pass a link, in the archive or on
/// disk
/// (`path_escapes_root`); devices and FIFOs (`not_a_regular_file`); a hard link to what the archive did not bring, a
/// file that is also a directory (`malformed_archive`, on disk `is_a_directory` and `not_a_directory`); more than
/// `most_bytes` or `most_entries` (`payload_too_large`) or than the disk has free (`no_space`). What goes wrong later,
/// such as a full disk, leaves what was unpacked until then.
[[nodiscard]] Result<ExtractSummary> extract_archive(const UniqueFd& directory, const ByteSource& source,
                                                     const ExtractOptions& options, const std::stop_token& stop);

}  // namespace skiff::fs
