#include "container/changes/change.hpp"

namespace skiff::container::changes {

std::string_view word(Why why) noexcept {
  switch (why) {
    case Why::unreadable:
      return "unreadable";
    case Why::other_mount:
      return "other_mount";
    case Why::conflict:
      return "conflict";
    case Why::consent:
      return "consent";
    case Why::special:
      return "special";
    case Why::failed:
      break;
  }
  return "failed";
}

std::string_view type_word(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "symlink";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      return "character_device";
    case S_IFBLK:
      return "block_device";
    default:
      return "file";
  }
}

}  // namespace skiff::container::changes
