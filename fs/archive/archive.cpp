#include "fs/archive/archive.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "fs/archive/tar.hpp"
#include "fs/path/descend.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"
#include "fs/search/walk.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kFileBlock = std::size_t{256} << 10U;
constexpr int kToRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr std::size_t kMostHardLinks = 65'536;  // names remembered; further hard links become files of their own

class Archive {
 public:
  Archive(const UniqueFd& directory, const ArchiveOptions& options, const std::stop_token& stop, const ByteSink& sink)
      : directory_{directory},
        whole_or_cut_{options.whole_or_cut},
        with_itself_{options.with_itself},
        stop_{stop},
        compressor_{options.compression, sink},
        tar_{[this](std::string_view bytes) { return compressor_.write(bytes); }} {}

  Result<ArchiveSummary> run(const std::vector<std::string>& paths) {
    std::vector<std::string> clean;
    for (const std::string& path : paths) {
      SKIFF_TRY(auto one, clean_path(path));
      clean.push_back(std::move(one));
    }
    if (clean.empty()) clean.emplace_back();
    for (const std::string& path : clean) {
      SKIFF_TRY_VOID(check(path));
    }
    for (const std::string& path : clean) {
      SKIFF_TRY_VOID(add_path(path));
    }
    if (whole_or_cut_ && summary_.left_out > 0) {
      return fail(Errc::io_error, "the archive lacks " + std::to_string(summary_.left_out) + " files or directories");
    }
    SKIFF_TRY_VOID(tar_.finish());
    SKIFF_TRY_VOID(compressor_.finish());
    return summary_;
  }

 private:
  /// Fails unless the path that the client asked for can be read.
  Result<> check(const std::string& path) const {
    const auto [above, name] = directory_and_name(path);
    SKIFF_TRY(const auto parent, descend(directory_.get(), above));
    if (name.empty()) return {};
    struct stat info{};
    const std::string text{name};
    if (::fstatat(parent.get(), text.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return std::unexpected{system_error(errno, "look at " + in_quotes(path))};
    }
    if (S_ISLNK(info.st_mode)) return {};
    SKIFF_TRY_VOID(check_regular_or_directory(info.st_mode, path));
    if (const UniqueFd opened{::openat(parent.get(), text.c_str(), kToRead)}; opened) return {};
    return std::unexpected{system_error(errno, "open " + in_quotes(path))};
  }

  static Result<> check_regular_or_directory(mode_t mode, const std::string& path) {
    return S_ISDIR(mode) ? Result<>{} : check_regular(mode, path);
  }

  Result<> add_path(const std::string& path) {
    const auto [above, name] = directory_and_name(path);
    auto inside = descend(directory_.get(), path);
    if (name.empty() && with_itself_ && inside) {
      SKIFF_TRY_VOID(add(inside->get(), ".", ".", WalkEntry::Kind::directory));
    }
    if (!name.empty()) {
      SKIFF_TRY(const auto parent, descend(directory_.get(), above));
      const auto kind = inside ? WalkEntry::Kind::directory : WalkEntry::Kind::other;
      SKIFF_TRY_VOID(add(parent.get(), std::string{name}, path, kind));
    }
    if (!inside) return {};
    Result<> result;
    const WalkOptions options{.prefix = path, .everything = true, .sorted = true, .unreadable = [this](auto where) {
                                leave_out(ArchiveSummary::Why::unreadable, where);
                              }};
    const auto walked = walk(*inside, options, stop_, [&](const WalkEntry& entry) {
      result = add(entry.directory, entry.name, entry.path, entry.kind);
      return result ? WalkStep::go_on : WalkStep::stop;
    });
    summary_.left_out += walked.vanished;
    summary_.special += walked.not_entered;
    if (result && walked.stopped) return stopped();
    return result;
  }

  void leave_out(ArchiveSummary::Why why, std::string_view path) {
    ++summary_.left_out;
    if (summary_.first.size() < ArchiveSummary::kMostNamed) summary_.first.push_back({why, std::string{path}});
  }

  /// Counts an entry that was in the list of its directory but cannot be archived.
  Result<> leave_out_for(int error, std::string_view path) {
    using Why = ArchiveSummary::Why;
    leave_out(error == ENOENT || error == ELOOP || error == 0 ? Why::vanished : Why::unreadable, path);
    return {};
  }

  static std::unexpected<Error> stopped() { return fail(Errc::cancelled, "the client no longer wants the archive"); }

  Result<> add(int directory, const std::string& name, std::string_view path, WalkEntry::Kind expected) {
    struct stat info{};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return leave_out_for(errno, path);
    }
    TarEntry entry{.path = std::string{path},
                   .mode = info.st_mode & 07777U,
                   .seconds = info.st_mtim.tv_sec,
                   .nanoseconds = static_cast<std::uint32_t>(info.st_mtim.tv_nsec),
                   .uid = info.st_uid,
                   .gid = info.st_gid};
    if (S_ISREG(info.st_mode)) return add_file(directory, name, std::move(entry), info);
    if (S_ISDIR(info.st_mode)) {
      if (expected != WalkEntry::Kind::directory) return leave_out_for(0, path);  // the walk does not enter it
      entry.kind = TarEntry::Kind::directory;
    } else if (S_ISLNK(info.st_mode)) {
      entry.kind = TarEntry::Kind::link;
      if (!read_target(directory, name, entry.target)) return leave_out_for(errno == EINVAL ? 0 : errno, path);
    } else {
      ++summary_.special;
      return {};
    }
    ++summary_.entries;
    return tar_.begin(entry);
  }

  static bool read_target(int directory, const std::string& name, std::string& target) {
    target.resize(TarReader::kLongestPath + 1);
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return size > 0;
  }

  Result<> add_file(int directory, const std::string& name, TarEntry entry, const struct stat& listed) {
    if (listed.st_nlink > 1) {
      const auto seen = first_names_.find({listed.st_dev, listed.st_ino});
      if (seen != first_names_.end()) {
        entry.kind = TarEntry::Kind::hard_link;
        entry.target = seen->second;
        ++summary_.entries;
        return tar_.begin(entry);
      }
    }
    const UniqueFd file{::openat(directory, name.c_str(), kToRead)};
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0) return leave_out_for(errno, entry.path);
    if (!S_ISREG(info.st_mode)) return leave_out_for(0, entry.path);
    if (listed.st_nlink > 1 && first_names_.size() < kMostHardLinks) {
      first_names_.emplace(std::pair{listed.st_dev, listed.st_ino}, entry.path);
    }
    entry.size = static_cast<std::uint64_t>(info.st_size);
    ++summary_.entries;
    summary_.bytes += entry.size;
    SKIFF_TRY_VOID(tar_.begin(entry));
    return copy(file, entry);
  }

  Result<> copy(const UniqueFd& file, const TarEntry& entry) {
    bool noted = false;
    for (std::uint64_t left = entry.size; left > 0;) {
      if (stop_.stop_requested()) return stopped();
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, block_.size()));
      ssize_t got = ::read(file.get(), block_.data(), wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        // The header has been written, so note the failure and fill the content with zeros.
        using Why = ArchiveSummary::Why;
        if (!std::exchange(noted, true)) leave_out(got == 0 ? Why::changed : Why::unreadable, entry.path);
        std::fill_n(block_.begin(), wanted, '\0');
        got = static_cast<ssize_t>(wanted);
      }
      SKIFF_TRY_VOID(tar_.write({block_.data(), static_cast<std::size_t>(got)}));
      left -= static_cast<std::uint64_t>(got);
    }
    return {};
  }

  const UniqueFd& directory_;
  const bool whole_or_cut_;
  const bool with_itself_;
  const std::stop_token& stop_;
  Compressor compressor_;
  TarWriter tar_;
  ArchiveSummary summary_;
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
  std::vector<char> block_ = std::vector<char>(kFileBlock);
};

}  // namespace

Result<ArchiveSummary> write_archive(const UniqueFd& directory, const ArchiveOptions& options,
                                     const std::stop_token& stop, const ByteSink& sink) {
  return Archive{directory, options, stop, sink}.run(options.paths);
}

}  // namespace skiff::fs
