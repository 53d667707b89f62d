#include "fs/archive/extract.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/archive/compression_magic.hpp"
#include "fs/archive/extract_check.hpp"
#include "fs/archive/spool.hpp"
#include "fs/archive/tar.hpp"
#include "fs/path/descend.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/owner.hpp"
#include "fs/path/path.hpp"
#include "fs/path/sparse_file.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kExtractBlock = std::size_t{256} << 10U;

std::unexpected<Error> stopped() {
  return fail(Errc::cancelled, "the client no longer wants the archive");
}

/// Larger contents are written once, to where they stay, and not to the spool.
constexpr std::uint64_t kSetAside = std::uint64_t{1} << 20U;
/// Each takes a descriptor.
constexpr std::size_t kMostSetAside = 64;

/// A piece of a file's content, in the block that it was read into.
struct Piece {
  std::uint64_t at;
  std::size_t size;
};
/// Reads the next piece of a file; a size of 0 is the end.
using Content = std::function<Result<Piece>(std::span<char> into)>;

/// The archive as it arrives, with the limit of its bytes.
class Incoming {
 public:
  Incoming(const ByteSource& source, const ExtractOptions& options, const std::stop_token& stop)
      : source_{source}, options_{options}, stop_{stop} {}

  /// Reads as much of the start as shows it. It is read again with the rest.
  Result<Compression> compression() {
    while (held_ < start_.size()) {
      SKIFF_TRY(const auto got, receive(std::span{start_}.subspan(held_)));
      if (got == 0) break;
      held_ += got;
    }
    return compression_of({start_.data(), held_});
  }

  Result<std::size_t> read(std::span<char> into) {
    if (taken_ == held_) return receive(into);
    const std::size_t count = std::min(into.size(), held_ - taken_);
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(taken_), count, into.begin());
    taken_ += count;
    return count;
  }

 private:
  Result<std::size_t> receive(std::span<char> into) {
    if (stop_.stop_requested()) return stopped();
    auto got = source_(into);
    if (!got) return got;
    size_ += *got;
    // Plain tar has up to a block of header and padding for each member.
    if (size_ > options_.most_bytes && size_ - options_.most_bytes > options_.most_entries * 1024 + 10'240) {
      return fail(Errc::payload_too_large,
                  "the archive has more than " + std::to_string(options_.most_bytes) + " bytes");
    }
    return got;
  }

  const ByteSource& source_;
  const ExtractOptions& options_;
  const std::stop_token& stop_;
  std::uint64_t size_ = 0;
  std::array<char, kCompressionMagic> start_ = {};
  std::size_t held_ = 0, taken_ = 0;  // bytes of `start_` that were received, and of these read
};

class Extraction {
 public:
  Extraction(const UniqueFd& directory, const ExtractOptions& options, const std::stop_token& stop)
      : directory_{directory}, options_{options}, stop_{stop} {}

  Result<ExtractSummary> run(const ByteSource& source) {
    Incoming incoming{source, options_, stop_};
    SKIFF_TRY(spool_, Spool::open(directory_.get()));
    SKIFF_TRY(const auto compression, incoming.compression());
    is_plain_ = compression == Compression::none;
    ExtractCheck checked{directory_, options_};
    if (is_plain_) {
      SKIFF_TRY_VOID(check_while_it_arrives(incoming, checked));
    } else {
      SKIFF_TRY_VOID(spool(incoming));
      SKIFF_TRY_VOID(check(checked));
    }
    SKIFF_TRY_VOID(check_room(checked));
    SKIFF_TRY_VOID(unpack());
    SKIFF_TRY_VOID(settle_directories());
    return checked.summary();
  }

 private:
  struct Directory {
    std::string path;
    TarEntry entry;
    dev_t device;
    ino_t inode;
  };

  /// A large file of the archive that has its content already, and no name yet.
  struct SetAside {
    std::uint64_t member;  ///< its number in the archive
    UniqueFd file;
  };

  /// Reads all that is left.
  Result<> drain(const ByteSource& bytes) {
    for (;;) {
      SKIFF_TRY(const auto got, bytes(block_));
      if (got == 0) return {};
    }
  }

  Result<> spool(Incoming& incoming) {
    for (;;) {
      SKIFF_TRY(const auto got, incoming.read(block_));
      if (got == 0) return spool_->finish();
      SKIFF_TRY_VOID(spool_->append({block_.data(), got}));
    }
  }

  /// Checks a plain archive. The spool gets all but the contents of large files, which are zeros there.
  Result<> check_while_it_arrives(Incoming& incoming, ExtractCheck& checked) {
    bool is_spooled = true;
    bool is_broken = true;  // no more can be received or stored
    const ByteSource bytes = [&](std::span<char> into) -> Result<std::size_t> {
      is_broken = true;
      SKIFF_TRY(const auto got, incoming.read(into));
      SKIFF_TRY_VOID(is_spooled ? spool_->append({into.data(), got}) : spool_->append_zeros(got));
      is_broken = false;
      return got;
    };
    const auto check_all = [&]() -> Result<> {
      TarReader reader{bytes};
      for (std::uint64_t member = 0;; ++member) {
        SKIFF_TRY(const auto entry, reader.next());
        if (!entry) return {};
        SKIFF_TRY(const auto path, checked.check(*entry));
        if (entry->kind != TarEntry::Kind::file || entry->stored < kSetAside) continue;
        if (set_aside_.size() == kMostSetAside) continue;
        UniqueFd file = open_nameless(path);
        if (!file) continue;
        is_spooled = false;
        if (auto written = write_content(content_of(reader), file.get(), *entry, path); !written) {
          is_broken = true;
          return written;
        }
        is_spooled = true;
        stored_aside_ += entry->stored;
        set_aside_.push_back({member, std::move(file)});
      }
    };
    auto found = check_all();
    if (!found && is_broken) return found;
    // Also an archive that is refused is received whole, so that its sender gets the answer.
    is_spooled = false;
    SKIFF_TRY_VOID(drain(bytes));
    return found ? spool_->finish() : found;
  }

  /// A file without a name, as a file at `path` would be made: in the nearest directory that exists, which decides
  /// about the file system, the group and access lists.
  [[nodiscard]] UniqueFd open_nameless(std::string_view path) const {
    for (std::string_view above = path; !above.empty();) {
      above = directory_and_name(above).directory;
      const auto directory = descend(directory_.get(), above);
      if (directory) return UniqueFd{::openat(directory->get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    }
    return {};
  }

  /// Reads the spool from its start, decompressed, with a limit on the bytes.
  TarReader from_the_start() {
    auto spooled = std::make_shared<SpoolReader>(*spool_);
    if (is_plain_) {
      return TarReader{[spooled, this](std::span<char> into) -> Result<std::size_t> {
                         return stop_.stop_requested() ? stopped() : spooled->read(into);
                       },
                       [spooled](std::uint64_t count) { spooled->skip(count); }};
    }
    return TarReader{decompressed(std::move(spooled))};
  }

  ByteSource decompressed(std::shared_ptr<SpoolReader> spooled) {
    struct Reading {
      std::uint64_t unpacked = 0;
      Decompressor bytes;
    };
    auto reading = std::make_shared<Reading>(
        0, Decompressor{[spooled = std::move(spooled)](std::span<char> into) { return spooled->read(into); }});
    // The limit includes headers and the bytes after the end mark, whatever the headers claim.
    const std::uint64_t most = options_.most_bytes + options_.most_entries * 4096 + (std::uint64_t{16} << 20U);
    return [reading, most, this](std::span<char> into) -> Result<std::size_t> {
      if (stop_.stop_requested()) return stopped();
      const auto got = reading->bytes.read(into);
      if (!got) return got;
      reading->unpacked += *got;
      if (reading->unpacked > most) return fail(Errc::payload_too_large, "the archive unpacks to too many bytes");
      return got;
    };
  }

  /// Checks a compressed archive, which is in the spool.
  Result<> check(ExtractCheck& checked) {
    const ByteSource bytes = decompressed(std::make_shared<SpoolReader>(*spool_));
    TarReader reader{bytes};
    for (;;) {
      SKIFF_TRY(const auto entry, reader.next());
      if (!entry) break;
      SKIFF_TRY_VOID(checked.check(*entry));
    }
    // Read to the end, so that the checksum of the compressed data is verified.
    return drain(bytes);
  }

  Result<> check_room(const ExtractCheck& checked) const {
    struct statvfs info{};
    const std::uint64_t stored = checked.stored() - stored_aside_;
    if (::fstatvfs(directory_.get(), &info) == 0 && info.f_blocks > 0 && stored / info.f_frsize > info.f_bavail) {
      return fail(Errc::no_space, "the archive unpacks to " + std::to_string(stored) + " bytes, more than are free");
    }
    return {};
  }

  Result<> unpack() {
    TarReader reader = from_the_start();
    auto aside = set_aside_.begin();
    for (std::uint64_t member = 0;; ++member) {
      SKIFF_TRY(auto entry, reader.next());
      if (!entry) return {};
      UniqueFd content;
      if (aside != set_aside_.end() && aside->member == member) content = std::move(aside++->file);
      SKIFF_TRY(const auto path, clean_path(entry->path));
      if (path.empty()) continue;
      const auto [above, last] = directory_and_name(path);
      SKIFF_TRY_VOID(open_parent(above));
      SKIFF_TRY_VOID(make(reader, *entry, path, std::string{last}, std::move(content)));
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

  /// `content` is the file if it was set aside.
  Result<> make(TarReader& reader, const TarEntry& entry, const std::string& path, const std::string& name,
                UniqueFd content) {
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
    if (entry.kind == TarEntry::Kind::file) {
      if (!content) return create_file(content_of(reader), entry, path, name, stays);
      return place_file(content.get(), entry, path, name, stays);
    }
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

  static Content content_of(TarReader& reader) {
    return [&reader](std::span<char> into) -> Result<Piece> {
      const std::uint64_t at = reader.offset();
      SKIFF_TRY(const auto got, reader.read(into));
      return Piece{at, got};
    };
  }

  static Content content_of(int file) {
    return [file, at = std::uint64_t{0}](std::span<char> into) mutable -> Result<Piece> {
      ssize_t got = -1;
      do got = ::pread(file, into.data(), into.size(), static_cast<off_t>(at));
      while (got < 0 && errno == EINTR);
      if (got < 0) return std::unexpected{system_error(errno, "read a temporary file")};
      const auto size = static_cast<std::size_t>(got);
      return Piece{std::exchange(at, at + size), size};
    };
  }

  Result<> write_content(const Content& content, int file, const TarEntry& entry, std::string_view path) {
    const SparseFile sparse{file};
    for (bool is_done = false; !is_done;) {
      SKIFF_TRY(const auto piece, content(block_));
      is_done = piece.size == 0;
      const int error = is_done ? sparse.finish(entry.size) : sparse.write(piece.at, {block_.data(), piece.size});
      if (error != 0) return std::unexpected{system_error(error, "write " + in_quotes(path))};
    }
    return {};
  }

  /// `in_place`: the file is a mount.
  Result<> create_file(const Content& content, const TarEntry& entry, const std::string& path, const std::string& name,
                       bool in_place) {
    UniqueFd file;
    if (in_place) {
      SKIFF_TRY(file, open_mount(parent_.get(), path, name));
    } else {
      file.reset(::openat(parent_.get(), name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600));
    }
    if (!file) return std::unexpected{system_error(errno, "make the file " + in_quotes(path))};
    SKIFF_TRY_VOID(write_content(content, file.get(), entry, path));
    return settle_file(file.get(), entry, path, in_place);
  }

  /// Gives a file that was set aside its name; where that is impossible, its content is copied.
  Result<> place_file(int file, const TarEntry& entry, const std::string& path, const std::string& name,
                      bool in_place) {
    if (!in_place) {
      SKIFF_TRY_VOID(settle_file(file, entry, path, false));
      const std::string source = proc_path(file);
      if (::linkat(AT_FDCWD, source.c_str(), parent_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
    }
    return create_file(content_of(file), entry, path, name, in_place);
  }

  Result<> settle_file(int file, const TarEntry& entry, const std::string& path, bool in_place) {
    const auto times = times_of(entry);
    // A mount may belong to another user.
    const bool is_set = ::fchmod(file, mode_of(entry)) == 0 && ::futimens(file, times.data()) == 0;
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
  std::optional<Spool> spool_;
  bool is_plain_ = false;  // the spool is not compressed
  std::vector<SetAside> set_aside_;
  std::uint64_t stored_aside_ = 0;  // bytes of these files
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
