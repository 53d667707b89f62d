#include "fs/path/directory_reader.hpp"

#include <fcntl.h>

#include <cerrno>

#include "fs/path/descriptor.hpp"

namespace skiff::fs {

Result<DirectoryReader> DirectoryReader::open(int directory) {
  UniqueFd fd = reopen(directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return std::unexpected{system_error(errno, "open a directory")};
  DIR* const dir = ::fdopendir(fd.get());
  if (dir == nullptr) return std::unexpected{system_error(errno, "open a directory")};
  (void)fd.release();
  return DirectoryReader{dir};
}

Result<bool> DirectoryReader::next(Name& name) {
  for (;;) {
    errno = 0;
    const dirent* const found = ::readdir(dir_.get());  // NOLINT(concurrency-mt-unsafe): each stream has one thread
    // A directory that was removed meanwhile has no more names.
    if (found == nullptr && (errno == 0 || errno == ENOENT)) return false;
    if (found == nullptr) return std::unexpected{system_error(errno, "read a directory")};
    name = {.name = found->d_name, .type = found->d_type};
    if (name.name != "." && name.name != "..") return true;
  }
}

void DirectoryReader::rewind() {
  ::rewinddir(dir_.get());
}

}  // namespace skiff::fs
