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
  std::uint64_t bytes = 0;                      ///< of files
  std::uint64_t skipped = 0;                    ///< sockets, FIFOs and devices, which no archive takes along
  std::uint64_t left_out = 0;                   ///< links that lead out of the target
  std::vector<std::string> shown = {};          ///< the first few of them: "NAME -> TARGET"
  std::uint64_t missing = 0;                    ///< what could not be read, and files that are not whole
  std::vector<std::string> missing_shown = {};  ///< the first few of them: "PATH: WHY"

  static constexpr std::size_t kMostShown = 10;
  void note_missing(const std::string& path, std::string why);
};

/// What libarchive says went wrong.
[[nodiscard]] std::unexpected<Error> archive_failure(archive* of, const std::string& what);

/// The next bytes, 0 at the end; nothing when the archive was cut.
using TarSource = std::function<std::optional<std::size_t>(std::span<char> into)>;

/// Where the entries of an archive go.
struct TarTarget {
  std::filesystem::path path;         ///< its parent exists
  bool is_new = false;                ///< made for this: else directories in it let nobody in whom they kept out
  bool is_file = false;               ///< the archive holds one file, which gets this path; else a directory's entries
  std::optional<unsigned> mode = {};  ///< that this directory, which exists, gets; nothing: it keeps its own
};

/// Unpacks what a sandbox sent, which is not trusted. An entry that would leave the target, through `..`, an absolute
/// path or a link, ends it. A link is made only where it leads to a place in the target, and left out otherwise; a hard
/// link only to a file that came before it. Where a file was asked for nothing else is made. Nobody becomes set-user-id
/// or another's. Zeros become holes. Files that exist are replaced when the new one is whole: none is ever there in
/// part. Errors say what is missing of an archive that was cut.
[[nodiscard]] Result<TarSummary> unpack_tar(const TarSource& source, const TarTarget& target);

}  // namespace skiff::container
