#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

struct archive;

/// Unpacking a tar archive on this machine. All calls block: use a thread.
namespace skiff::container {

struct TarSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;                      ///< bytes of files
  std::uint64_t skipped = 0;                    ///< sockets, FIFOs and devices, which are never copied
  std::uint64_t left_out = 0;                   ///< links that lead out of the target
  std::vector<std::string> shown = {};          ///< the first few of them: "NAME -> TARGET"
  std::uint64_t missing = 0;                    ///< entries that could not be read, and files that are not complete
  std::vector<std::string> missing_shown = {};  ///< the first few of them: "PATH: WHY"

  static constexpr std::size_t kMostShown = 10;
  void note_missing(const std::string& path, std::string why);
};

/// The error that libarchive reports for the last call on `of`.
[[nodiscard]] std::unexpected<Error> archive_failure(archive* of, const std::string& what);

/// Reads the next bytes and returns their number: 0 at the end, nullopt when the transfer was cut.
using TarSource = std::function<std::optional<std::size_t>(std::span<char> into)>;

/// The destination of an archive's entries.
struct TarTarget {
  std::filesystem::path path;         ///< its parent exists
  bool is_new = false;                ///< made for this: else directories in it let nobody in whom they kept out, and
                                      ///< it keeps its own mode and time, whatever the archive says
  bool is_file = false;               ///< the archive holds one file, which gets this path; else a directory's entries
  std::optional<unsigned> mode = {};  ///< that this directory, which exists, gets; nothing: it keeps its own
};

/// Unpacks an archive from a sandbox, which is not trusted. An entry that would leave the target, through `..`, an
/// absolute path or a link, ends the unpacking with an error. A link is created only if it leads to a place in the
/// target, and is left out otherwise; a hard link only to a file that came before it. Where a file was asked for,
/// nothing else is created. Set-user-id bits and owners are not restored. Blocks of zeros become holes. An existing
/// file is replaced when the new one is complete, so no file is ever visible in part.
[[nodiscard]] Result<TarSummary> unpack_tar(const TarSource& source, const TarTarget& target);

}  // namespace skiff::container
