#include "fs/content/staged_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

constexpr int kMostNameTries = 8;  // tries for a name with 64 random bits, which practically never collides

bool lacks_nameless_files(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == ENOENT || error == EINVAL || error == ENOSYS;
}

}  // namespace

int rename_new(int from_directory, const std::string& from, int to_directory, const std::string& to) {
  if (::renameat2(from_directory, from.c_str(), to_directory, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (!means_unsupported(errno)) return errno;
  struct stat status{};
  if (::fstatat(from_directory, from.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISDIR(status.st_mode)) {
    // A directory replaces only an empty directory, so an empty one created here stands for "no such name".
    if (::mkdirat(to_directory, to.c_str(), 0700) != 0) return errno;
    if (::renameat(from_directory, from.c_str(), to_directory, to.c_str()) == 0) return 0;
    const int error = errno;
    ::unlinkat(to_directory, to.c_str(), AT_REMOVEDIR);
    return error;
  }
  if (::linkat(from_directory, from.c_str(), to_directory, to.c_str(), 0) != 0) return errno;
  return ::unlinkat(from_directory, from.c_str(), 0) == 0 ? 0 : errno;
}

StagedFile::StagedFile(int directory, UniqueFd fd, std::string name) noexcept
    : directory_{directory}, fd_{std::move(fd)}, name_{std::move(name)} {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_{other.directory_}, fd_{std::move(other.fd_)}, name_{std::exchange(other.name_, {})} {}

StagedFile::~StagedFile() {
  if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
}

Result<StagedFile> StagedFile::make(int directory, mode_t mode, Naming naming, Becomes becomes) {
  int error = EOPNOTSUPP;
  if (naming == Naming::nameless) {
    UniqueFd nameless{::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode)};
    if (nameless) return StagedFile{directory, std::move(nameless), {}};
    error = errno;
  }
  for (int i = 0; i < kMostNameTries && lacks_nameless_files(error); ++i) {
    std::string name = temporary_name(becomes);
    UniqueFd named{::openat(directory, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode)};
    if (named) return StagedFile{directory, std::move(named), std::move(name)};
    if (errno != EEXIST) error = errno;
    if (errno == ENOENT) break;
  }
  return std::unexpected{system_error(error, "make a temporary file")};
}

int StagedFile::link(const std::string& name) const {
  // linkat(2) with AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH; since Linux 6.10 the opener of the file may call it, too.
  if (::linkat(fd_.get(), "", directory_, name.c_str(), AT_EMPTY_PATH) == 0) return 0;
  if (errno == EEXIST) return errno;
  const std::string path = proc_path(fd_.get());
  return ::linkat(AT_FDCWD, path.c_str(), directory_, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

Result<std::string> StagedFile::name_it() {
  for (int i = 0; name_.empty(); ++i) {
    std::string name = temporary_name(Becomes::replacement);
    const int error = link(name);
    if (error == 0) {
      name_ = std::move(name);
    } else if (error != EEXIST || i == kMostNameTries) {
      return std::unexpected{system_error(error, "name a temporary file")};
    }
  }
  return name_;
}

Result<> StagedFile::publish(const std::string& name, Existing existing) {
  int error = 0;
  if (existing == Existing::replace) {
    SKIFF_TRY_VOID(name_it());
    error = ::renameat(directory_, name_.c_str(), directory_, name.c_str()) == 0 ? 0 : errno;
  } else if (name_.empty()) {
    error = link(name);
  } else {
    error = rename_new(directory_, name_, directory_, name);
  }
  if (error != 0) return std::unexpected{system_error(error, "write " + in_quotes(name))};
  name_.clear();
  return {};
}

}  // namespace skiff::fs
