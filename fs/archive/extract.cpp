#include "fs/archive/extract.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/archive/extract_check.hpp"
#include "fs/archive/sparse_file.hpp"
#include "fs/archive/tar.hpp"
#include "fs/path/descend.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/owner.hpp"
#include "fs/path/path.hpp"
#include "fs/path/temporary_name.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kExtractBlock = std::size_t{256} << 10U;

std::unexpected<Error> stopped() {
  return fail(Errc::cancelled, "the client no longer wants the archive");
}

/// A file without a name in the file system of `directory`.
Result<UniqueFd> open_spool(int directory) {
  UniqueFd file{::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  // Overlay and network file systems may lack O_TMPFILE; kernels report it with any of these errors.
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
    const std::string name = temporary_name();
    file.reset(::openat(directory, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
    if (file) ::unlinkat(directory, name.c_str(), 0);
  }
  if (!file) return std::unexpected{system_error(errno, "make a temporary file for an archive")};
  return file;
}

class Extraction {
 public:
  Extraction(const UniqueFd& directory, const ExtractOptions& options, const std::stop_token& stop)
      : directory_{directory}, options_{options}, stop_{stop} {}

  Result<ExtractSummary> run(const ByteSource& source) {
    SKIFF_TRY_VOID(spool(source));
    const auto summary = check();
    if (!summary) return summary;
    SKIFF_TRY_VOID(unpack());
    SKIFF_TRY_VOID(settle_directories());
    return summary;
  }

 private:
  struct Directory {
    std::string path;
    TarEntry entry;
    dev_t device;
    ino_t inode;
  };

  Result<> spool(const ByteSource& source) {
    SKIFF_TRY(spool_, open_spool(directory_.get()));
    const SparseFile file{spool_.get()};
    const auto result = [](int error) {
      return error == 0 ? Result<>{} : std::unexpected{system_error(error, "write to a temporary file")};
    };
    std::uint64_t size = 0;
    for (;;) {
      if (stop_.stop_requested()) return stopped();
      SKIFF_TRY(const auto got, source(block_));
      if (got == 0) return result(file.finish(size));
      const std::uint64_t at = std::exchange(size, size + got);
      // Plain tar has up to a block of header and padding for each member.
      if (size > options_.most_bytes && size - options_.most_bytes > options_.most_entries * 1024 + 10'240) {
        return fail(Errc::payload_too_large,
                    "the archive has more than " + std::to_string(options_.most_bytes) + " bytes");
      }
      SKIFF_TRY_VOID(result(file.write(at, {block_.data(), got})));
    }
  }

  /// Reads the spool from its start, decompressed, with a limit on the bytes.
  ByteSource from_the_start() {
    struct Reading {
      off_t at = 0;
      std::uint64_t unpacked = 0;
      std::optional<Decompressor> bytes;
    };
    auto reading = std::make_shared<Reading>();
    reading->bytes.emplace([this, at = &reading->at](std::span<char> into) -> Result<std::size_t> {
      const ssize_t got = ::pread(spool_.get(), into.data(), into.size(), *at);
      if (got < 0) return std::unexpected{system_error(errno, "read a temporary file")};
      *at += got;
      return static_cast<std::size_t>(got);
    });
    // The limit includes headers and the bytes after the end mark, whatever the headers claim.
    const std::uint64_t most = options_.most_bytes + options_.most_entries * 4096 + (std::uint64_t{16} << 20U);
    return [reading, most, this](std::span<char> into) -> Result<std::size_t> {
      if (stop_.stop_requested()) return stopped();
      const auto got = reading->bytes->read(into);
      if (!got) return got;
      reading->unpacked += *got;
      if (reading->unpacked > most) return fail(Errc::payload_too_large, "the archive unpacks to too many bytes");
      return got;
    };
  }

  Result<ExtractSummary> check() {
    ExtractCheck checked{directory_, options_};
    const ByteSource bytes = from_the_start();
    TarReader reader{bytes};
    for (;;) {
      SKIFF_TRY(const auto entry, reader.next());
      if (!entry) break;
      SKIFF_TRY_VOID(checked.check(*entry));
    }
    // Read to the end, so that the checksum of the compressed data is verified.
    for (;;) {
      SKIFF_TRY(const auto got, bytes(block_));
      if (got == 0) break;
    }
    struct statvfs info{};
    if (::fstatvfs(directory_.get(), &info) == 0 && info.f_blocks > 0 &&
        checked.stored() / info.f_frsize > info.f_bavail) {
      return fail(Errc::no_space,
                  "the archive unpacks to " + std::to_string(checked.stored()) + " bytes, more than are free");
    }
    return checked.summary();
  }

  Result<> unpack() {
    TarReader reader{from_the_start()};
    for (;;) {
      SKIFF_TRY(auto entry, reader.next());
      if (!entry) return {};
      SKIFF_TRY(const auto path, clean_path(entry->path));
      if (path.empty()) continue;
      const auto [above, last] = directory_and_name(path);
      SKIFF_TRY_VOID(open_parent(above));
      SKIFF_TRY_VOID(make(reader, *entry, path, std::string{last}));
    }
  }

  /// Opens the directory at `path` and creates its missing parts. It passes no link, even if the disk has changed since
  /// the check.
  Result<> open_parent(std::string_view path) {
    if (parent_ && path == parent_path_) return {};
    auto at = descend(directory_.get(), "");
    for (std::string_view rest = path; at && !rest.empty();) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string name{rest.substr(0, end)};
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (::mkdirat(at->get(), name.c_str(), 0777) == 0) {
      } else if (errno != EEXIST) {
        return std::unexpected{system_error(errno, "make the directory " + in_quotes(path))};
      }
      at = descend(at->get(), name);
    }
    if (!at) return std::unexpected{at.error()};
    parent_ = std::move(*at);
    parent_path_ = path;
    return {};
  }

  [[nodiscard]] mode_t mode_of(const TarEntry& entry) const {
    return entry.mode & (options_.keep_set_id ? 07777U : 01777U);
  }

  static std::array<timespec, 2> times_of(const TarEntry& entry) {
    return {timespec{0, UTIME_NOW}, timespec{entry.seconds, static_cast<long>(entry.nanoseconds)}};
  }

  Result<> make(TarReader& reader, const TarEntry& entry, const std::string& path, const std::string& name) {
    const int directory = parent_.get();
    std::string other;
    if (entry.kind == TarEntry::Kind::hard_link) {
      SKIFF_TRY(other, clean_path(entry.target));
      if (other == path) return {};  // some programs write a file and then a link from it to itself
    }
    const auto failed = [&](const char* what) {
      return std::unexpected{system_error(errno, std::string{what} + in_quotes(path))};
    };
    if (entry.kind == TarEntry::Kind::directory) {
      // The directory stays writable until its contents are complete.
      UniqueFd opened = create_private_directory(directory, name);
      if (!opened && errno == EEXIST) {
        opened.reset(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      }
      struct stat info{};
      if (!opened || ::fstat(opened.get(), &info) != 0) return failed("make the directory ");
      directories_.push_back({path, entry, info.st_dev, info.st_ino});
      return {};
    }
    const bool stays = ::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT;
    if (stays && (errno != EBUSY || entry.kind != TarEntry::Kind::file)) return failed("replace ");
    if (entry.kind == TarEntry::Kind::file) return create_file(reader, entry, path, name, stays);
    if (entry.kind == TarEntry::Kind::link) {
      if (::symlinkat(entry.target.c_str(), directory, name.c_str()) != 0) return failed("make the link ");
      set_link_times(directory, name, times_of(entry));
      return {};
    }
    const auto [above, last] = directory_and_name(other);
    SKIFF_TRY(const auto from, descend(directory_.get(), above));
    // linkat(2) does not follow a link that has taken the file's place; it would link that link.
    if (::linkat(from.get(), std::string{last}.c_str(), directory, name.c_str(), 0) != 0)
      return failed("make the hard link ");
    return {};
  }

  /// Opens a mount, which cannot be replaced, to overwrite its content.
  static Result<UniqueFd> open_mount(int directory, const std::string& path, const std::string& name) {
    UniqueFd file{::openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    const auto failed = [&] { return std::unexpected{system_error(errno, "write " + in_quotes(path))}; };
    if (!file) return failed();
    SKIFF_TRY(const auto status, status_of(file.get()));
    SKIFF_TRY_VOID(check_regular(status.st_mode, path));
    if (is_private_to_kernel(file.get(), status.st_mode)) {
      return fail(Errc::permission_denied, "write " + in_quotes(path) + ": this kernel file is private");
    }
    if (::ftruncate(file.get(), 0) != 0) return failed();
    return file;
  }

  /// `in_place`: the file is a mount.
  Result<> create_file(TarReader& reader, const TarEntry& entry, const std::string& path, const std::string& name,
                       bool in_place) {
    UniqueFd file;
    if (in_place) {
      SKIFF_TRY(file, open_mount(parent_.get(), path, name));
    } else {
      file.reset(::openat(parent_.get(), name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600));
    }
    const auto failed = [&] { return std::unexpected{system_error(errno, "make the file " + in_quotes(path))}; };
    if (!file) return failed();
    const SparseFile sparse{file.get()};
    for (bool is_done = false; !is_done;) {
      const std::uint64_t at = reader.offset();
      SKIFF_TRY(const auto got, reader.read(block_));
      is_done = got == 0;
      const int error = is_done ? sparse.finish(entry.size) : sparse.write(at, {block_.data(), got});
      if (error != 0) return std::unexpected{system_error(error, "write " + in_quotes(path))};
    }
    const auto times = times_of(entry);
    // A mount may belong to another user.
    const bool is_set = ::fchmod(file.get(), mode_of(entry)) == 0 && ::futimens(file.get(), times.data()) == 0;
    if (!is_set && !(in_place && errno == EPERM)) {
      return std::unexpected{system_error(errno, "set the mode and the time of " + in_quotes(path))};
    }
    return {};
  }

  /// Sets modes and times of directories last, the innermost first: creating their contents changes the times and may
  /// need a more permissive mode.
  Result<> settle_directories() {
    for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
      SKIFF_TRY(const auto opened, descend(directory_.get(), directory->path));
      const auto times = times_of(directory->entry);
      struct stat info{};
      // Another object that has taken the directory's place keeps its own mode.
      if (::fstat(opened.get(), &info) != 0 || info.st_dev != directory->device || info.st_ino != directory->inode) {
        return fail(Errc::io_error, "the directory " + in_quotes(directory->path) + " was replaced by another one");
      }
      if (::fchmod(opened.get(), mode_of(directory->entry)) != 0 || ::futimens(opened.get(), times.data()) != 0) {
        return std::unexpected{system_error(errno, "set the mode and the time of " + in_quotes(directory->path))};
      }
    }
    return {};
  }

  const UniqueFd& directory_;
  const ExtractOptions& options_;
  const std::stop_token& stop_;
  UniqueFd spool_;
  std::vector<char> block_ = std::vector<char>(kExtractBlock);
  UniqueFd parent_;
  std::string parent_path_;
  std::vector<Directory> directories_;
};

}  // namespace

Result<ExtractSummary> extract_archive(const UniqueFd& directory, const ByteSource& source,
                                       const ExtractOptions& options, const std::stop_token& stop) {
  return Extraction{directory, options, stop}.run(source);
}

}  // namespace skiff::fs
