#pragma once

#include <dirent.h>

#include <memory>
#include <string_view>

#include "base/error.hpp"

namespace skiff::fs {

/// Reads the names in a directory, in no order. Names that are created or removed meanwhile may or may not appear.
class DirectoryReader {
 public:
  struct Name {
    std::string_view name;   ///< valid until the next call
    unsigned char type = 0;  ///< DT_DIR, DT_REG, ...; DT_UNKNOWN where the file system does not say
  };

  /// Opens a directory by its descriptor, also O_PATH. The caller keeps the descriptor, and its position does not
  /// change.
  [[nodiscard]] static Result<DirectoryReader> open(int directory);

  /// Skips "." and "..". Returns false at the end. Errors: io_error.
  [[nodiscard]] Result<bool> next(Name& name);

  /// Starts again with the current names.
  void rewind();

  [[nodiscard]] int fd() const noexcept { return ::dirfd(dir_.get()); }

 private:
  struct Close {
    void operator()(DIR* dir) const noexcept { ::closedir(dir); }
  };
  explicit DirectoryReader(DIR* dir) noexcept : dir_{dir} {}
  std::unique_ptr<DIR, Close> dir_;
};

}  // namespace skiff::fs
