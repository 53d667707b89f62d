#include "container/agent/copy/tar.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/id.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/sparse_file.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kBlock = std::size_t{256} << 10U;
/// Modes are restored without set-user-id and set-group-id.
constexpr unsigned kPermissions = 01777;
/// Two empty records end an archive (tar(5)).
constexpr std::uint64_t kTarEnd = 1024;

using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using Writer = std::unique_ptr<archive, int (*)(archive*)>;

/// True if the path is lexically inside: it is relative, and no component is "..".
bool is_inside(const files::path& path) {
  return !path.empty() && path.is_relative() && std::ranges::count(path, files::path{".."}) == 0;
}

struct Source {
  const TarSource* source;
  std::vector<char> buffer = std::vector<char>(kBlock);
  std::uint64_t zeros = 0;  ///< number of zeros at the end of the bytes that were read so far

  /// True when the end mark of the archive was read. An archive that was cut between two entries has none.
  [[nodiscard]] bool is_whole() const { return zeros >= kTarEnd; }

  static la_ssize_t read(archive* of, void* self, const void** data) {
    auto* from = static_cast<Source*>(self);
    const auto got = (*from->source)(from->buffer);
    if (!got) {
      archive_set_error(of, EIO, "the transfer was cut short");
      return -1;
    }
    const auto all = std::span{from->buffer}.first(*got);
    const auto last = std::ranges::find_if(all.rbegin(), all.rend(), [](char c) { return c != 0; });
    const auto run = static_cast<std::uint64_t>(last - all.rbegin());
    from->zeros = run == all.size() ? from->zeros + run : run;
    *data = from->buffer.data();
    return static_cast<la_ssize_t>(*got);
  }
};

/// A file of this machine under a temporary name beside its place. It takes that place when it is complete, so no file
/// is ever visible in part. The destructor removes a file that is not kept.
class NewFile {
 public:
  /// `directory` holds the file and must live as long as this; `at` is the path of the place, whose last name it gets.
  [[nodiscard]] static Result<NewFile> create(int directory, files::path at);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Writes from `offset` on, which lies behind what was written before. Runs of zeros become holes.
  [[nodiscard]] Result<> write(std::uint64_t offset, std::string_view bytes);
  /// Gives the file its size, mode and time of change, and its place: a file or link there is replaced.
  [[nodiscard]] Result<> keep(std::uint64_t size, mode_t mode, timespec changed);

 private:
  NewFile(int directory, files::path at, std::string beside, UniqueFd file)
      : directory_{directory}, at_{std::move(at)}, beside_{std::move(beside)}, file_{std::move(file)} {}

  int directory_;
  files::path at_;
  std::string beside_;  ///< the temporary name; empty when there is no file of that name
  UniqueFd file_;
};

std::unexpected<Error> file_failure(int error, const char* what, const files::path& at) {
  return std::unexpected{system_error(error, what + (" \"" + at.string() + "\""))};
}

Result<NewFile> NewFile::create(int directory, files::path at) {
  std::string beside = new_id(".skiff-");
  constexpr int kFlags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC;
  UniqueFd file{::openat(directory, beside.c_str(), kFlags, 0600)};
  if (!file) return file_failure(errno, "create", at);
  return NewFile{directory, std::move(at), std::move(beside), std::move(file)};
}

NewFile::NewFile(NewFile&& other) noexcept
    : directory_{other.directory_},
      at_{std::move(other.at_)},
      beside_{std::exchange(other.beside_, {})},
      file_{std::move(other.file_)} {}

NewFile::~NewFile() {
  if (!beside_.empty()) ::unlinkat(directory_, beside_.c_str(), 0);
}

Result<> NewFile::write(std::uint64_t offset, std::string_view bytes) {
  const int error = fs::SparseFile{file_.get()}.write(offset, bytes);
  return error == 0 ? Result<>{} : file_failure(error, "write", at_);
}

Result<> NewFile::keep(std::uint64_t size, mode_t mode, timespec changed) {
  if (const int error = fs::SparseFile{file_.get()}.finish(size); error != 0) return file_failure(error, "write", at_);
  const std::array times{timespec{0, UTIME_NOW}, changed};
  if (::fchmod(file_.get(), mode) != 0 || ::futimens(file_.get(), times.data()) != 0) {
    return file_failure(errno, "set the mode and the time of", at_);
  }
  if (::renameat(directory_, beside_.c_str(), directory_, at_.filename().c_str()) == 0) {
    beside_.clear();
    return {};
  }
  std::error_code error{errno, std::generic_category()};
  // A mount point cannot be renamed over: its contents are replaced.
  if (error == std::errc::device_or_resource_busy) {
    files::copy_file(at_.parent_path() / beside_, at_, files::copy_options::overwrite_existing, error);
  }
  return error ? file_failure(error.value(), "create", at_) : Result<>{};
}

Result<> unpack_data(archive* from, NewFile& to, const std::string& name, TarSummary& summary) {
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int got = archive_read_data_block(from, &block, &size, &offset);
    if (got == ARCHIVE_EOF) return {};
    if (got < ARCHIVE_WARN) return archive_failure(from, "\"" + name + "\" was left out");
    SKIFF_TRY_VOID(to.write(static_cast<std::uint64_t>(offset), {static_cast<const char*>(block), size}));
    summary.bytes += size;
  }
}

/// The normal form of a path, without `.` components and without a slash at its end.
files::path normal(const files::path& path) {
  files::path plain = path.lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

/// Unpacks entry by entry.
class Unpacking {
 public:
  /// The parent of `base` has no links in its path. `to` creates all but files, and follows no links.
  Unpacking(archive* from, archive* to, files::path base, const TarTarget& target)
      : from_{from}, to_{to}, base_{std::move(base)}, is_new_{target.is_new}, is_file_{target.is_file} {
    std::error_code error;
    top_ = files::weakly_canonical(base_, error);
  }

  Result<> take(archive_entry* entry) {
    const char* path = archive_entry_pathname(entry);
    const std::string name = path != nullptr ? path : "";
    if (!is_inside(name)) return leaves(name);
    const files::path below = normal(name);
    const auto type = archive_entry_filetype(entry);
    const bool is_hard_link = archive_entry_hardlink(entry) != nullptr;
    archive_entry_set_perm(entry, archive_entry_perm(entry) & kPermissions);
    // libarchive applies the sign to the seconds only.
    const auto seconds = archive_entry_mtime(entry);
    const auto parts = archive_entry_mtime_nsec(entry);
    if (seconds < 0 && parts > 0) archive_entry_set_mtime(entry, seconds - 1, 1'000'000'000 - parts);
    if (is_file_) {
      if (type != AE_IFREG || is_hard_link || summary.entries > 0) {
        return fail(Errc::not_a_regular_file, "a file was asked for, and \"" + name + "\" came in its place");
      }
      const files::path above = base_.parent_path();
      const UniqueFd directory{::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
      if (!directory) return std::unexpected{system_error(errno, "open \"" + above.string() + "\"")};
      return take_file(entry, name, directory.get(), base_);
    }
    // A hard link whose name ends in a slash is called a directory.
    if (type == AE_IFDIR && !is_hard_link) {
      if (below != ".") return take_directory(entry, base_ / below);
      if (is_new_) changed_at = timespec{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
      return {};
    }
    if (type != AE_IFREG && type != AE_IFLNK && !is_hard_link) {
      ++summary.skipped;
      return {};
    }
    // A file or link would take the place of the target itself.
    if (below == ".") return leaves(name);
    files_.erase(below.string());
    if (is_hard_link) return take_hard_link(entry, name, below);
    if (type == AE_IFLNK) return take_link(entry, below);
    SKIFF_TRY_VOID(open_parent(below.parent_path()));
    auto taken = take_file(entry, name, parent_.get(), base_ / below);
    if (taken) files_.insert(below.string());
    return taken;
  }

  TarSummary summary = {};
  std::optional<timespec> changed_at = {};  ///< the directory itself, if it is new and the archive says it

 private:
  [[nodiscard]] std::unexpected<Error> leaves(const std::string& name) const {
    return fail(Errc::path_escapes_root, "\"" + name + "\" in the archive would leave \"" + base_.string() + "\"");
  }

  Result<> take_entry(archive_entry* entry, const files::path& at) {
    parent_.reset();  // it may be replaced
    archive_entry_set_pathname(entry, at.c_str());
    if (archive_write_header(to_, entry) < ARCHIVE_WARN) return archive_failure(to_, "create \"" + at.string() + "\"");
    ++summary.entries;
    return {};
  }

  /// An existing directory gets no wider mode: it belongs to the user, or was created for an earlier entry in it.
  Result<> take_directory(archive_entry* entry, const files::path& at) {
    struct stat there{};
    const bool is_there = ::lstat(at.c_str(), &there) == 0;
    if (is_there && S_ISLNK(there.st_mode)) {  // libarchive would remove it
      return fail(Errc::path_escapes_root,
                  "\"" + at.string() + "\" is a link, and a directory in the archive would take its place");
    }
    if (!is_new_ && is_there && S_ISDIR(there.st_mode)) {
      archive_entry_set_perm(entry, (archive_entry_perm(entry) | S_IRWXU) & there.st_mode & kPermissions);
    }
    return take_entry(entry, at);
  }

  /// Opens the directory `below` the target and creates what is missing of it. It passes no link.
  Result<> open_parent(const files::path& below) {
    if (parent_ && below == parent_path_) return {};
    const std::string whole = (base_ / below).string();
    const auto refused = [&] { return std::unexpected{system_error(errno, "open \"" + whole + "\"")}; };
    if (::mkdir(base_.c_str(), 0777) != 0 && errno != EEXIST) return refused();
    // O_PATH: what is written in a directory does not have to be read.
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd at{::open(base_.c_str(), kFlags)};
    if (!at) return refused();
    for (const files::path& name : below) {
      if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return refused();
      UniqueFd next{::openat(at.get(), name.c_str(), kFlags)};
      if (!next) return refused();
      at = std::move(next);
    }
    parent_ = std::move(at);
    parent_path_ = below;
    return {};
  }

  /// `directory` is that of `at`, the file's path.
  Result<> take_file(archive_entry* entry, const std::string& name, int directory, const files::path& at) {
    SKIFF_TRY(auto file, NewFile::create(directory, at));
    SKIFF_TRY_VOID(unpack_data(from_, file, name, summary));
    const timespec changed{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    SKIFF_TRY_VOID(
        file.keep(static_cast<std::uint64_t>(archive_entry_size(entry)), archive_entry_perm(entry), changed));
    ++summary.entries;
    return {};
  }

  Result<> take_link(archive_entry* entry, const files::path& below) {
    const char* symlink = archive_entry_symlink(entry);
    const files::path target = symlink != nullptr ? symlink : "";
    if (leads_inside(below, target)) return take_entry(entry, base_ / below);
    ++summary.left_out;
    if (summary.shown.size() < TarSummary::kMostShown)
      summary.shown.push_back(below.string() + " -> " + target.string());
    return {};
  }

  /// True if a link at `below` to `target` stays in the target directory. The link's directory is a real one, so each
  /// `..` at the beginning of its target is one directory up. Behind a name that may be a link, `..` could lead
  /// anywhere.
  [[nodiscard]] bool leads_inside(const files::path& below, const files::path& target) const {
    if (target.empty() || target.is_absolute()) return false;
    const files::path above = below.parent_path();
    auto depth = std::distance(above.begin(), above.end());
    bool has_names = false;
    for (const files::path& step : target) {
      if (step == ".." && (has_names || depth-- == 0)) return false;
      has_names = has_names || (step != ".." && step != "." && !step.empty());
    }
    // In a directory that existed before, the user's own links may lead elsewhere.
    std::error_code error;
    const files::path end = files::weakly_canonical(base_ / above / target, error);
    if (error == std::errc::too_many_symbolic_link_levels) return true;  // a loop leads nowhere
    return !error && std::ranges::mismatch(top_, end).in1 == top_.end();
  }

  Result<> take_hard_link(archive_entry* entry, const std::string& name, const files::path& below) {
    const std::string first = archive_entry_hardlink(entry);
    const files::path other = normal(first);
    if (!is_inside(first) || !files_.contains(other.string())) {
      return fail(Errc::path_escapes_root,
                  "\"" + name + "\" in the archive is a link to \"" + first + "\", which did not come before it");
    }
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_hardlink(entry, (base_ / other).c_str());
    archive_entry_unset_size(entry);  // its contents came with the first name
    auto taken = take_entry(entry, base_ / below);
    if (taken) files_.insert(below.string());
    return taken;
  }

  archive* from_;
  archive* to_;
  files::path base_;
  files::path top_;  ///< the real path of `base_`
  bool is_new_;
  bool is_file_;
  UniqueFd parent_ = {};                        ///< the directory of the last file
  files::path parent_path_ = {};                ///< its path below `base_`
  std::unordered_set<std::string> files_ = {};  ///< files that were unpacked
};

}  // namespace

std::unexpected<Error> archive_failure(archive* of, const std::string& what) {
  const char* text = archive_error_string(of);
  return fail(
      archive_errno(of) > 0 && archive_errno(of) < 200 ? system_error(archive_errno(of), "").code : Errc::io_error,
      what + ": " + (text != nullptr ? text : "unknown failure"));
}

void TarSummary::note_missing(const std::string& path, std::string why) {
  ++missing;
  if (missing_shown.size() < kMostShown) missing_shown.push_back(path + ": " + std::move(why));
}

Result<TarSummary> unpack_tar(const TarSource& source, const TarTarget& target) {
  Source bytes{.source = &source};
  const Reader tar{archive_read_new(), &archive_read_free};
  const Writer disk{archive_write_disk_new(), &archive_write_free};
  archive_read_support_format_tar(tar.get());
  archive_read_support_format_empty(tar.get());
  archive_write_disk_set_options(disk.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                 ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  if (archive_read_open(tar.get(), &bytes, nullptr, &Source::read, nullptr) != ARCHIVE_OK) {
    return archive_failure(tar.get(), "read the archive");
  }
  // Links on the way to the target are the user's own; links below it are refused.
  std::error_code error;
  const files::path base = files::canonical(target.path.parent_path(), error) / target.path.filename();
  if (error) {
    return std::unexpected{system_error(error.value(), "find \"" + target.path.parent_path().string() + "\"")};
  }
  const UniqueFd directory{target.mode ? ::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1};
  const auto set_mode = [&](unsigned more) -> Result<> {
    // A directory of another user keeps its mode (EPERM).
    if (!directory || ::fchmod(directory.get(), (*target.mode & kPermissions) | more) == 0 || errno == EPERM) return {};
    return std::unexpected{system_error(errno, "set the mode of \"" + base.string() + "\"")};
  };
  // No other user may see more while unpacking than afterwards.
  SKIFF_TRY_VOID(set_mode(0700));
  Unpacking unpacking{tar.get(), disk.get(), base, target};
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(tar.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got < ARCHIVE_WARN) return archive_failure(tar.get(), "read the archive");
    SKIFF_TRY_VOID(unpacking.take(entry));
  }
  if (!bytes.is_whole()) return fail(Errc::io_error, "the archive has no end");
  // Bytes behind the archive's end have no meaning. Read them, because the sender's trailers come behind them.
  for (;;) {
    const auto got = source(bytes.buffer);
    if (!got) return fail(Errc::io_error, "the transfer was cut short");
    if (*got == 0) break;
  }
  if (target.is_file && unpacking.summary.entries == 0) {
    return fail(Errc::not_a_regular_file, "a file was asked for, and the archive is empty");
  }
  if (archive_write_close(disk.get()) < ARCHIVE_WARN)
    return archive_failure(disk.get(), "finish \"" + base.string() + "\"");
  // The entries that came into it have changed its time.
  if (unpacking.changed_at) {
    const std::array times{timespec{0, UTIME_NOW}, *unpacking.changed_at};
    const UniqueFd made{::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!made || ::futimens(made.get(), times.data()) != 0) {
      return std::unexpected{system_error(errno, "set the time of \"" + base.string() + "\"")};
    }
  }
  SKIFF_TRY_VOID(set_mode(0));
  return std::move(unpacking.summary);
}

}  // namespace skiff::container
