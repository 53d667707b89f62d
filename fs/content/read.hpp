#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// The object at a path; a link at its end is not followed by default. Errors: those of Tree.
struct Seen {
  UniqueFd object;  ///< O_PATH, to compute its tag
  Entry entry;
};
[[nodiscard]] Result<Seen> look_at(const Tree& tree, std::string_view path, Links last = Links::keep);

/// A regular file, open for reading, and its metadata at that time. The descriptor keeps this file even if its name is
/// replaced meanwhile. For a kernel file under /proc or /sys it is a copy.
struct OpenFile {
  UniqueFd fd;
  Entry entry;
};
/// Errors: those of Tree; not_a_regular_file, is_a_directory; those of copy_of_kernel_file.
[[nodiscard]] Result<OpenFile> open_to_read(const Tree& tree, std::string_view path);

/// Fills `into` from `offset` on; less only at the end of the file. Errors: io_error.
[[nodiscard]] Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> into);

/// Lines counted from 1, inclusive; `last` 0: to the end of the file.
struct LineRange {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};
/// Parses "10-40", "10-" or "10". Errors: invalid_field.
[[nodiscard]] Result<LineRange> parse_lines(std::string_view text);

/// A range of bytes; `to` is exclusive.
struct ByteRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};
/// Finds lines in the first `size` bytes of a file, by reading it block by block up to the last line, in bounded
/// memory. Holes are skipped (lseek(2), SEEK_DATA), since they hold no line end. A line includes its "\n"; the last one
/// may lack it. Lines past the end are an empty range at the end. Errors: payload_too_large when the lines are not
/// within the first `most_read` bytes of data, so that no client occupies a thread for long; cancelled when `stop` is
/// requested; io_error.
inline constexpr std::uint64_t kMostReadForLines = 1ULL << 30U;
[[nodiscard]] Result<ByteRange> find_lines(int fd, LineRange lines, std::uint64_t size,
                                           std::uint64_t most_read = kMostReadForLines,
                                           const std::stop_token& stop = {});

}  // namespace skiff::fs
