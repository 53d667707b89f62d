#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "container/agent/tar.hpp"

/// Packing files of this machine into a tar archive. All calls block: use a thread.
namespace skiff::container {

/// Takes the next block; false: nobody wants more.
using TarSink = std::function<bool(std::string block)>;

/// Packs a file or a directory with all that is in it; links as links, several names of one file as such, modes and
/// times are kept. A link that `from` itself is is followed if a slash is behind it. It is called `name` in the
/// archive; with "." a directory's entries stand there without it. What can't be read is left out, and what is shorter
/// than it was at first ends in zeros; both are in the summary. Errors: of `from` itself.
[[nodiscard]] Result<TarSummary> pack_tar(const std::filesystem::path& from, const std::string& name,
                                          const TarSink& sink);

/// How many bytes an archive of one file of that size has, but for the time of the file.
[[nodiscard]] std::uint64_t tar_size(std::uint64_t file_size);
/// How many bytes `pack_tar` will give: exact, but for names that are not ASCII or longer than 100 characters and files
/// of 8 GiB, of which it leaves out the longer headers. What can't be looked at counts nothing.
[[nodiscard]] std::uint64_t tar_size(const std::filesystem::path& from, const std::string& name);

}  // namespace skiff::container
