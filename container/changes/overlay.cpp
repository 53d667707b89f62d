#include "container/changes/overlay.hpp"

#include <fcntl.h>
#include <sys/xattr.h>

#include <string>

#include "base/unique_fd.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::container::changes {

Opacity opacity_of(int directory) {
  char mark = 0;
  const ssize_t size = ::getxattr(fs::proc_path(directory).c_str(), "user.overlay.opaque", &mark, 1);
  return {.is_opaque = size == 1 && mark == 'y', .has_marked_whiteouts = size == 1 && mark == 'x'};
}

bool is_whiteout(int directory, const char* name, const struct stat& status, const Opacity& of_directory) {
  if (S_ISCHR(status.st_mode)) return status.st_rdev == 0;
  if (!of_directory.has_marked_whiteouts || !S_ISREG(status.st_mode) || status.st_size != 0) return false;
  const UniqueFd file{::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  return file && ::getxattr(fs::proc_path(file.get()).c_str(), "user.overlay.whiteout", nullptr, 0) >= 0;
}

}  // namespace skiff::container::changes
