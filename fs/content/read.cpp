#include "fs/content/read.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "fs/content/kernel_file.hpp"
#include "fs/path/stop.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kReadBlock = 256 * 1024;

std::optional<std::uint64_t> line_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

Result<Seen> look_at(const Tree& tree, std::string_view path, Links last) {
  SKIFF_TRY(auto object, tree.open_object(path, last));
  SKIFF_TRY(auto entry, entry_of(object.get()));
  return Seen{.object = std::move(object), .entry = std::move(entry)};
}

Result<OpenFile> open_to_read(const Tree& tree, std::string_view path) {
  SKIFF_TRY(auto file, tree.open_file(path, O_RDONLY));
  SKIFF_TRY(auto entry, entry_of(file.get()));
  SKIFF_TRY(auto copy, copy_of_kernel_file(file.get(), entry));
  if (copy) {
    // The copy is always fresh, so its tag is by content.
    SKIFF_TRY(auto made, entry_of(copy.get()));
    made.mode = entry.mode;
    made.uid = entry.uid;
    made.gid = entry.gid;
    return OpenFile{.fd = std::move(copy), .entry = std::move(made)};
  }
  return OpenFile{.fd = std::move(file), .entry = std::move(entry)};
}

Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t size = ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::unexpected{system_error(errno, "read a file")};
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return done;
}

Result<LineRange> parse_lines(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = line_number(text.substr(0, dash));
  std::optional<std::uint64_t> last = first;
  if (dash != std::string_view::npos) {
    last = dash + 1 == text.size() ? std::optional<std::uint64_t>{0} : line_number(text.substr(dash + 1));
  }
  if (!first || !last || (*last != 0 && *last < *first)) {
    return fail(Errc::invalid_field, "lines are FIRST-LAST, FIRST- or one number, counted from 1", "lines");
  }
  return LineRange{.first = *first, .last = *last};
}

Result<ByteRange> find_lines(int fd, LineRange lines, std::uint64_t size, std::uint64_t most_read,
                             const std::stop_token& stop) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::unexpected{system_error(errno, "look at a file")};
  size = std::min(size, static_cast<std::uint64_t>(info.st_size));  // the file may have been truncated meanwhile
  const bool sparse = static_cast<std::uint64_t>(info.st_blocks) * 512 < size;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBlock);
  ByteRange range{.from = lines.first <= 1 ? 0 : size, .to = size};
  if (lines.first <= 1 && lines.last == 0) return range;
  std::uint64_t line = 1;  // the line that the next byte belongs to
  std::uint64_t read = 0;
  for (std::uint64_t offset = 0; offset < size;) {
    if (stop.stop_requested()) return stopped_error();
    if (sparse) {
      const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;
      if (data > 0) offset = std::max(offset, static_cast<std::uint64_t>(data));
      if (offset >= size) break;
    }
    if (read >= most_read) {
      return fail(Errc::payload_too_large,
                  "the lines are not in the first " + std::to_string(most_read) + " bytes: ask for a Range of bytes",
                  "lines");
    }
    const std::size_t wanted = std::min<std::uint64_t>(kReadBlock, size - offset);
    SKIFF_TRY(auto got, read_at(fd, offset, {buffer.get(), wanted}));
    const char* at = buffer.get();
    const char* const end = at + got;
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      at = static_cast<const char*>(found) + 1;
      const std::uint64_t next = offset + static_cast<std::uint64_t>(at - buffer.get());
      ++line;
      if (line == lines.first) {
        range.from = next;
        if (lines.last == 0) return range;
      }
      if (lines.last != 0 && line == lines.last + 1) {
        range.to = next;
        return range;
      }
    }
    offset += got;
    read += got;
    if (got < wanted) {  // the file was truncated meanwhile
      range.to = offset;
      range.from = std::min(range.from, offset);
      return range;
    }
  }
  return range;
}

}  // namespace skiff::fs
