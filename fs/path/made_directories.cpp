#include "fs/path/made_directories.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <ranges>

namespace skiff::fs {

MadeDirectories::~MadeDirectories() {
  for (const auto& [parent, name] : made_ | std::views::reverse) {
    if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0)
      return;  // usually ENOTEMPTY: the directory is in
               // use
  }
}

void MadeDirectories::add(int parent, std::string name) {
  UniqueFd directory{::openat(parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (directory) made_.emplace_back(std::move(directory), std::move(name));
}

}  // namespace skiff::fs
