#include "container/agent/copy/pack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kPackBlock = std::size_t{256} << 10U;
/// Largest file without a size, as in /proc: it is read whole first, because the header needs the size.
constexpr std::size_t kMostUnsized = std::size_t{64} << 20U;
constexpr unsigned kModeBits = 07777;
/// A header is one record, contents fill whole records, and two empty records end the archive (tar(5)).
constexpr std::uint64_t kRecord = 512;
constexpr std::uint64_t kArchiveEnd = 2 * kRecord;

std::uint64_t entry_size(std::uint64_t contents) {
  return kRecord + (contents + kRecord - 1) / kRecord * kRecord;
}

/// A time with a part of a second needs a header of its own, with one record.
std::uint64_t time_size(const struct stat& of) {
  return of.st_mtim.tv_nsec == 0 ? 0 : entry_size(1);
}

using FileId = std::pair<dev_t, ino_t>;

FileId id_of(const struct stat& of) {
  return {of.st_dev, of.st_ino};
}

/// Collects the small writes of libarchive into larger blocks.
struct Gathering {
  const TarSink* sink;
  std::string block = {};
  bool left = false;

  bool flush() {
    if (!block.empty() && !left) left = !(*sink)(std::exchange(block, {}));
    return !left;
  }
  static la_ssize_t write(archive* /*of*/, void* self, const void* data, std::size_t size) {
    auto* gathering = static_cast<Gathering*>(self);
    gathering->block.append(static_cast<const char*>(data), size);
    if (gathering->block.size() >= kPackBlock && !gathering->flush()) return -1;
    return static_cast<la_ssize_t>(size);
  }
};

/// Reads until `buffer` is full or the file ends. Returns the number of bytes.
Result<std::size_t> read_into(int file, std::span<char> buffer) {
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = ::read(file, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read it")};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

/// An entry of a directory, or the path that the caller named.
struct PackedEntry {
  int directory;     ///< `name` is relative to it
  std::string name;  ///< name for openat(2)
  files::path shown;
  std::string called;  ///< name in the archive; "." has no entry
};

/// Packs entry by entry. Errors are those of the archive and end the packing. Problems of single files are noted in the
/// summary.
class Packing {
 public:
  explicit Packing(archive* to) : to_{to} {}

  Result<> take(const PackedEntry& at) {
    struct stat status{};
    if (::fstatat(at.directory, at.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return note(at, errno);
    switch (status.st_mode & S_IFMT) {
      case S_IFREG:
        return take_file(at, status);
      case S_IFDIR:
        return take_directory(at, status);
      case S_IFLNK:
        return take_link(at, status);
      default:
        ++summary.skipped;
        return {};
    }
  }

  TarSummary summary = {};

 private:
  Result<> note(const PackedEntry& at, std::string why) {
    summary.note_missing(at.shown.string(), std::move(why));
    return {};
  }
  Result<> note(const PackedEntry& at, int error) { return note(at, errno_text(error)); }

  Result<> failure(const PackedEntry& at) const { return archive_failure(to_, "pack \"" + at.shown.string() + "\""); }

  void describe(const PackedEntry& at, const struct stat& status) {
    archive_entry_clear(entry_.get());
    archive_entry_set_pathname(entry_.get(), at.called.c_str());
    archive_entry_set_filetype(entry_.get(), status.st_mode & S_IFMT);
    archive_entry_set_perm(entry_.get(), status.st_mode & kModeBits);
    archive_entry_set_uid(entry_.get(), status.st_uid);
    archive_entry_set_gid(entry_.get(), status.st_gid);
    set_time(status.st_mtim);
    archive_entry_set_size(entry_.get(), 0);
  }

  /// libarchive writes the sign and the digits of both numbers one after the other: 0.25 s before 1970 would be 1.75 s.
  void set_time(timespec time) {
    if (time.tv_sec < 0 && time.tv_nsec > 0) time = {time.tv_sec + 1, 1'000'000'000 - time.tv_nsec};
    archive_entry_set_mtime(entry_.get(), time.tv_sec, time.tv_nsec);
  }

  Result<> write_header(const PackedEntry& at) {
    if (archive_write_header(to_, entry_.get()) < ARCHIVE_WARN) return failure(at);
    ++summary.entries;
    return {};
  }

  Result<> take_link(const PackedEntry& at, const struct stat& status) {
    std::string target(static_cast<std::size_t>(status.st_size) + 1, '\0');
    for (;;) {
      const ssize_t size = ::readlinkat(at.directory, at.name.c_str(), target.data(), target.size());
      if (size < 0) return note(at, errno);
      if (static_cast<std::size_t>(size) < target.size()) {
        target.resize(static_cast<std::size_t>(size));
        break;
      }
      target.resize(target.size() * 2);  // links in /proc have size 0
    }
    describe(at, status);
    archive_entry_set_symlink(entry_.get(), target.c_str());
    return write_header(at);
  }

  Result<> take_directory(const PackedEntry& at, const struct stat& status) {
    if (at.called != ".") {
      describe(at, status);
      SKIFF_TRY_VOID(write_header(at));
    }
    UniqueFd opened{::openat(at.directory, at.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!opened) return note(at, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> listed{::fdopendir(opened.get()), &::closedir};
    if (!listed) return note(at, errno);
    const int directory = opened.release();
    for (;;) {
      errno = 0;
      const dirent* one = ::readdir(listed.get());
      if (one == nullptr) return errno == 0 ? Result<>{} : note(at, errno);
      const std::string name{static_cast<const char*>(one->d_name)};
      if (name == "." || name == "..") continue;
      std::string called = at.called == "." ? name : at.called + "/" + name;
      SKIFF_TRY_VOID(take({directory, name, at.shown / name, std::move(called)}));
    }
  }

  /// The first name of a file carries its contents; later names are hard links to it.
  Result<> take_file(const PackedEntry& at, const struct stat& seen) {
    const auto first = names_.find(id_of(seen));
    if (first != names_.end()) {
      describe(at, seen);
      archive_entry_set_hardlink(entry_.get(), first->second.c_str());
      archive_entry_unset_size(entry_.get());
      return write_header(at);
    }
    // A file that has become a FIFO meanwhile must not block us.
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const UniqueFd file{::openat(at.directory, at.name.c_str(), kFlags)};
    if (!file) return note(at, errno);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return note(at, errno);
    if (!S_ISREG(status.st_mode)) return note(at, "it was replaced while it was copied");
    SKIFF_TRY_VOID(send_file(at, file.get(), status));
    return {};
  }

  Result<> send_file(const PackedEntry& at, int file, const struct stat& status) {
    // A file that fits into the block has the size that was read, whatever fstat(2) said.
    std::span<char> block{block_};
    auto got = read_into(file, block);
    auto size = static_cast<std::uint64_t>(status.st_size);
    std::string whole;
    if (got && *got == block.size() && size == 0) {
      whole.assign(block.begin(), block.end());
      whole.resize(kMostUnsized);
      block = whole;
      const auto more = read_into(file, block.subspan(*got));
      if (more && *got + *more == block.size()) return note(at, "it does not say its size, and is larger than 64 MiB");
      got = more ? Result<std::size_t>{*got + *more} : more;
    }
    if (!got) return note(at, got.error().message);
    if (*got < block.size() || size < *got) size = *got;
    describe(at, status);
    archive_entry_set_size(entry_.get(), static_cast<la_int64_t>(size));
    SKIFF_TRY_VOID(write_header(at));
    if (status.st_nlink > 1) names_.emplace(id_of(status), at.called);
    std::uint64_t left = size;
    for (;;) {
      if (*got > 0 && archive_write_data(to_, block.data(), *got) < 0) return failure(at);
      summary.bytes += *got;
      left -= *got;
      if (left == 0) return {};
      // A file that grows meanwhile is cut at the size in its header.
      got = read_into(file, block.first(std::min<std::uint64_t>(block.size(), left)));
      // libarchive fills the entry with zeros: its header was already sent.
      if (!got) return note(at, got.error().message + ": its last " + std::to_string(left) + " bytes are zeros");
      if (*got == 0)
        return note(at, "it shrank while it was copied: its last " + std::to_string(left) + " bytes are zeros");
    }
  }

  archive* to_;
  std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry_{archive_entry_new(), &archive_entry_free};
  std::vector<char> block_ = std::vector<char>(kPackBlock);
  std::map<FileId, std::string> names_ = {};  ///< first names of files that have several
};

/// The path without the `/` or `/.` at its end, which says that a link is followed.
files::path without_end(const files::path& from) {
  files::path plain = from;
  while (plain.has_parent_path() && plain.has_relative_path() && (!plain.has_filename() || plain.filename() == ".")) {
    plain = plain.parent_path();
  }
  return plain;
}

}  // namespace

Result<TarSummary> pack_tar(const files::path& from, const std::string& name, const TarSink& sink) {
  struct stat status{};
  if (::lstat(from.c_str(), &status) != 0) {
    return std::unexpected{system_error(errno, "open \"" + from.string() + "\"")};
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return fail(Errc::not_a_regular_file, "\"" + from.string() +
                                              "\" is not a file, directory or link: `skiff files write` takes what a "
                                              "pipe or a device gives");
  }
  if (!S_ISLNK(status.st_mode) && ::access(from.c_str(), R_OK) != 0) {
    return std::unexpected{system_error(errno, "open \"" + from.string() + "\"")};
  }
  Gathering gathering{.sink = &sink};
  const std::unique_ptr<archive, int (*)(archive*)> tar{archive_write_new(), &archive_write_free};
  archive_write_set_format_pax(tar.get());  // restricted pax rounds times to seconds
  archive_write_set_bytes_in_last_block(tar.get(), 1);
  if (archive_write_open(tar.get(), &gathering, nullptr, &Gathering::write, nullptr) != ARCHIVE_OK) {
    return archive_failure(tar.get(), "begin an archive");
  }
  Packing packing{tar.get()};
  auto packed = packing.take({AT_FDCWD, from.string(), without_end(from), name});
  if (gathering.left) return fail(Errc::cancelled, "the receiver took no more");
  if (!packed) return std::unexpected{std::move(packed.error())};
  if (archive_write_close(tar.get()) < ARCHIVE_WARN) return archive_failure(tar.get(), "end the archive");
  if (!gathering.flush()) return fail(Errc::cancelled, "the receiver took no more");
  return std::move(packing.summary);
}

std::uint64_t tar_size(std::uint64_t file_size) {
  return entry_size(file_size) + kArchiveEnd;
}

std::uint64_t tar_size(const files::path& from, const std::string& name) {
  std::set<FileId> seen;
  const auto size_of = [&seen](const files::path& entry) -> std::uint64_t {
    struct stat status{};
    if (::lstat(entry.c_str(), &status) != 0) return 0;
    if (S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode)) return entry_size(0) + time_size(status);
    if (!S_ISREG(status.st_mode)) return 0;
    const bool is_another_name = status.st_nlink > 1 && !seen.insert(id_of(status)).second;
    return entry_size(is_another_name ? 0 : static_cast<std::uint64_t>(status.st_size)) + time_size(status);
  };
  std::error_code error;
  std::uint64_t total = kArchiveEnd + (name == "." ? 0 : size_of(from));
  if (!files::is_directory(files::symlink_status(from, error))) return total;
  const auto options = files::directory_options::skip_permission_denied;
  for (files::recursive_directory_iterator each{from, options, error}, end; !error && each != end;
       each.increment(error)) {
    total += size_of(each->path());
  }
  return total;
}

}  // namespace skiff::container
