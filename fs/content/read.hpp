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

/// What is at a path; the last name is not followed. Errors: those of Tree.
struct Seen {
  UniqueFd object;  ///< O_PATH: for its tag
  Entry entry;
};
[[nodiscard]] Result<Seen> look_at(const Tree& tree, std::string_view path, Links last = Links::keep);

/// A regular file, open to be read or sent, and what it was when it was opened. It goes on being that file when its
/// name is written anew meanwhile. Of a file of the kernel's, under /proc or /sys, it is a copy.
struct OpenFile {
  UniqueFd fd;
  Entry entry;
};
/// Errors: those of Tree; not_a_regular_file, is_a_directory; those of copy_of_kernel_file.
[[nodiscard]] Result<OpenFile> open_to_read(const Tree& tree, std::string_view path);

/// Fills `into` from that offset on; less only at the end of the file. Errors: io_error.
[[nodiscard]] Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> into);

/// Lines counted from 1, both ends included; `last` 0: to the end of the file.
struct LineRange {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};
/// "10-40", "10-" or "10". Errors: invalid_field.
[[nodiscard]] Result<LineRange> parse_lines(std::string_view text);

/// From the first to one past the last byte.
struct ByteRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};
/// Where lines are, in the first `size` bytes of a file: found by reading it block by block up to the last line, in
/// bounded memory; holes are passed over (lseek(2), SEEK_DATA), which have no line's end. A line holds its "\n"; the
/// last one may lack it. Lines past the end are empty, at the end. Errors: payload_too_large when they are not found in
/// the first `most_read` bytes of data, so that nobody keeps a thread for long; cancelled when `stop` is requested;
/// io_error.
inline constexpr std::uint64_t kMostReadForLines = 1ULL << 30U;
[[nodiscard]] Result<ByteRange> find_lines(int fd, LineRange lines, std::uint64_t size,
                                           std::uint64_t most_read = kMostReadForLines,
                                           const std::stop_token& stop = {});

}  // namespace skiff::fs
