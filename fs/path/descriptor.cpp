#include "fs/path/descriptor.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

bool is_of_proc(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

/// Whether it is about this process or one of its threads, which have names of their own under /proc. Network and
/// mounts are public: /proc/net and /proc/mounts lead there.
bool tells_of_this_process(int fd) {
  std::array<char, 64> path{};
  const ssize_t size = ::readlink(proc_path(fd).c_str(), path.data(), path.size());
  std::string_view rest{path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  constexpr std::string_view kProc = "/proc/";
  if (!rest.starts_with(kProc)) return true;  // assume that it is: the path is not below /proc
  rest.remove_prefix(kProc.size());
  const std::string task{rest.substr(0, rest.find('/'))};
  rest.remove_prefix(task.size());
  if (rest.empty() || rest == "/mounts" || rest.starts_with("/net/")) return false;
  return ::access(("/proc/self/task/" + task).c_str(), F_OK) == 0;
}

}  // namespace

std::string proc_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

UniqueFd reopen(int fd, int flags) {
  flags |= O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  // Directories do not need /proc.
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
  if (S_ISDIR(mode)) return fail(Errc::is_a_directory, in_quotes(path) + " is a directory");
  const char* what = S_ISFIFO(mode)   ? " is a FIFO"
                     : S_ISSOCK(mode) ? " is a socket"
                     : S_ISLNK(mode)  ? " is a link"
                                      : " is a device";
  return fail(Errc::not_a_regular_file, in_quotes(path) + what + ", not a regular file");
}

bool is_private_to_kernel(int fd, mode_t mode) {
  return is_of_proc(fd) && ((mode & S_IROTH) == 0 || tells_of_this_process(fd));
}

bool means_unsupported(int error) {
  return error == ENOSYS || error == EPERM || error == EINVAL || error == EOPNOTSUPP || error == ENOTTY;
}

}  // namespace skiff::fs
