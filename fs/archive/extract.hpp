#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/archive/compression.hpp"

namespace skiff::fs {

struct ExtractOptions {
  std::uint64_t most_bytes = std::uint64_t{16} << 30U;  ///< limit for the unpacked files and for the packed archive
  std::uint64_t most_entries = 1'000'000;
  bool keep_set_id = false;  ///< keep the set-uid and set-gid bits instead of dropping them
};

struct ExtractSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< bytes of the files
};

/// Unpacks a tar archive into `directory`; its bytes show whether it is plain, gzip or zstd. The whole archive is
/// checked before the first file gets a name; meanwhile its bytes are in a nameless file in the same file system, and
/// the large files of a plain archive in nameless files of their own, so that they are written once. Modes (without
/// umask) and times are kept. An existing file or link is replaced, an existing directory is used. Memory: some 20
/// bytes a member, and the paths of the directories. Blocks; meant for a pool thread.
///
/// Refused before anything is written: a member that is absolute, holds `..`, or would pass a link, in the archive or
/// on disk (`path_escapes_root`); devices and FIFOs (`not_a_regular_file`); a hard link to a file outside of the
/// archive, or a file that is also a directory (`malformed_archive`, on disk `is_a_directory` and `not_a_directory`);
/// more than `most_bytes` or `most_entries` (`payload_too_large`), or than the disk has free (`no_space`). A later
/// failure, such as a full disk, leaves the members that were unpacked before.
[[nodiscard]] Result<ExtractSummary> extract_archive(const UniqueFd& directory, const ByteSource& source,
                                                     const ExtractOptions& options, const std::stop_token& stop);

}  // namespace skiff::fs
