#include "fs/tree/directory_to_fill.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "fs/path/descriptor.hpp"
#include "fs/path/name_lock.hpp"

namespace skiff::fs {

Result<DirectoryToFill> DirectoryToFill::open(const Tree& tree, std::string_view path) {
  DirectoryToFill directory;
  const auto existing = tree.open_object(path, Links::follow);
  if (!existing && existing.error().code == Errc::path_not_found) {
    SKIFF_TRY(directory.location_, tree.locate(path, Links::keep, Parents::make));
    const Location& location = directory.location_;
    SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
    const int error = ::mkdirat(location.parent.get(), location.name.c_str(), 0777) == 0 ? 0 : errno;
    if (error != 0 && (error != EEXIST || !tree.open_directory(path))) {
      return std::unexpected{system_error(error, "make " + in_quotes(path))};
    }
    directory.is_made_ = error == 0 && ::fstatat(location.parent.get(), location.name.c_str(), &directory.status_,
                                                 AT_SYMLINK_NOFOLLOW) == 0;
  }
  SKIFF_TRY(directory.fd_, tree.open_directory(path));
  return directory;
}

DirectoryToFill::~DirectoryToFill() {
  struct stat now{};
  if (!is_made_ || ::fstatat(location_.parent.get(), location_.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return;
  // ENOTEMPTY, as a rule: it is in use.
  if (same_object(status_, now)) (void)::unlinkat(location_.parent.get(), location_.name.c_str(), AT_REMOVEDIR);
}

}  // namespace skiff::fs
