#pragma once

#include <sys/stat.h>

namespace skiff::container::changes {

/// The marks that an overlay writes into its upper directory (the kernel's Documentation/filesystems/overlayfs.rst),
/// with the option `userxattr`.
struct Opacity {
  bool is_opaque = false;             ///< nothing of the directory below is seen
  bool has_marked_whiteouts = false;  ///< files in it may be whiteouts by an attribute
};

/// Reads the marks of a directory of the layer.
[[nodiscard]] Opacity opacity_of(int directory);

/// True if the name in a directory of the layer stands for the absence of one in the directory below.
[[nodiscard]] bool is_whiteout(int directory, const char* name, const struct stat& status, const Opacity& of_directory);

}  // namespace skiff::container::changes
