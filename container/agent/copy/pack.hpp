#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "container/agent/copy/tar.hpp"

/// Packing files of this machine into a tar archive. All calls block: use a thread.
namespace skiff::container {

/// Takes the next block; returns false when it wants no more.
using TarSink = std::function<bool(std::string block)>;

/// Packs a file, or a directory with its contents. Links are packed as links and several names of a file as hard links;
/// modes and times are kept. If `from` is a link, it is followed only if a slash is behind it. The entry is called
/// `name` in the archive; "." packs a directory's entries without the directory. A file that cannot be read is left
/// out, and one that has become shorter ends in zeros; the summary lists both. Errors are those of `from` itself and of
/// the sink.
[[nodiscard]] Result<TarSummary> pack_tar(const std::filesystem::path& from, const std::string& name,
                                          const TarSink& sink);

/// Size of an archive of one file of `file_size` bytes whose time is in whole seconds (else one more header follows).
[[nodiscard]] std::uint64_t tar_size(std::uint64_t file_size);
/// Number of bytes that `pack_tar` will give. It does not count the longer headers of names that are not ASCII or have
/// more than 100 characters and of files of 8 GiB, nor entries that cannot be examined.
[[nodiscard]] std::uint64_t tar_size(const std::filesystem::path& from, const std::string& name);

}  // namespace skiff::container
