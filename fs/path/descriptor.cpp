#include "fs/path/descriptor.hpp"

#include <fcntl.h>

#include <cerrno>

#include "fs/path/path.hpp"

namespace skiff::fs {

std::string proc_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

UniqueFd reopen(int fd, int flags) {
  flags |= O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  // A directory needs no help of /proc.
  if ((flags & O_DIRECTORY) != 0) return UniqueFd{::openat(fd, ".", flags)};
  return UniqueFd{::open(proc_path(fd).c_str(), flags)};
}

Result<struct stat> status_of(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::unexpected{system_error(errno, "stat an open file")};
  return status;
}

Result<> check_regular(mode_t mode, std::string_view path) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return fail(Errc::is_a_directory, quoted(path) + " is a directory");
  const char* what = S_ISFIFO(mode)   ? " is a FIFO"
                     : S_ISSOCK(mode) ? " is a socket"
                     : S_ISLNK(mode)  ? " is a link"
                                      : " is a device";
  return fail(Errc::not_a_regular_file, quoted(path) + what + ", not a regular file");
}

bool means_unsupported(int error) {
  return error == ENOSYS || error == EPERM || error == EINVAL || error == EOPNOTSUPP || error == ENOTTY;
}

}  // namespace skiff::fs
