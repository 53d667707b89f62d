#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

/// Tar archives of files on this machine. All calls block: use a thread.
namespace skiff::container {

struct TarSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;              ///< of files
  std::uint64_t skipped = 0;            ///< sockets, FIFOs and devices, which no archive takes along
  std::uint64_t left_out = 0;           ///< links that lead out of the target
  std::vector<std::string> shown = {};  ///< the first few of them: "NAME -> TARGET"
};

/// Takes the next block; false: nobody wants more.
using TarSink = std::function<bool(std::string block)>;

/// Packs a file or a directory with all that is in it, links as links, modes and times kept. It is called `name` in the
/// archive; with "." a directory's entries stand there without it.
[[nodiscard]] Result<TarSummary> pack_tar(const std::filesystem::path& from, const std::string& name,
                                          const TarSink& sink);

/// How many bytes an archive of one file of that size has.
[[nodiscard]] std::uint64_t tar_size(std::uint64_t file_size);
/// How many bytes `pack_tar` will give: exact, but for names that are not ASCII or longer than 100 characters and files
/// of 8 GiB, of which it leaves out the longer headers. What can't be looked at counts nothing.
[[nodiscard]] std::uint64_t tar_size(const std::filesystem::path& from, const std::string& name);

/// The next bytes, 0 at the end; nothing when the archive was cut.
using TarSource = std::function<std::optional<std::size_t>(std::span<char> into)>;

/// Where the entries of an archive go.
struct TarTarget {
  std::filesystem::path path;  ///< its parent exists
  bool is_file = false;        ///< the archive holds one file, which gets this path; else a directory's entries
};

/// Unpacks what a sandbox sent, which is not trusted. An entry that would leave the target, through `..`, an absolute
/// path or a link, ends it. A link is made only where it leads to a place in the target, and left out otherwise; a hard
/// link only to a file that came before it. Where a file was asked for nothing else is made. Nobody becomes set-user-id
/// or another's. Files that exist are replaced when the new one is whole: none is ever there in part. Errors say what
/// is missing of an archive that was cut.
[[nodiscard]] Result<TarSummary> unpack_tar(const TarSource& source, const TarTarget& target);

}  // namespace skiff::container
