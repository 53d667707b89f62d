#pragma once

#include <dirent.h>

#include <memory>
#include <string_view>

#include "base/error.hpp"

namespace skiff::fs {

/// The names in a directory, in no order. What is made or removed meanwhile may or may not be seen.
class DirectoryReader {
 public:
  struct Name {
    std::string_view name;   ///< until the next call
    unsigned char type = 0;  ///< DT_DIR, DT_REG, ...; DT_UNKNOWN where the file system does not say
  };

  /// Of a directory's descriptor, also O_PATH; it stays the caller's and its position stays as it is.
  [[nodiscard]] static Result<DirectoryReader> open(int directory);

  /// "." and ".." are left out. False at the end. Errors: io_error.
  [[nodiscard]] Result<bool> next(Name& name);

  /// From the beginning, with what is there now.
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
