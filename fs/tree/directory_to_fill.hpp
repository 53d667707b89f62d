#pragma once

#include <sys/stat.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// A directory that something is about to be put into, open for reading. What had to be made of it, and of those above
/// it, goes again with this, unless it is kept or something is in it. Another directory that has got its name stays.
class DirectoryToFill {
 public:
  /// As `mkdir -p`. Errors: those of Tree::locate; already_exists, not_a_directory.
  [[nodiscard]] static Result<DirectoryToFill> open(const Tree& tree, std::string_view path);
  DirectoryToFill(DirectoryToFill&& other) noexcept
      : location_{std::move(other.location_)},
        fd_{std::move(other.fd_)},
        status_{other.status_},
        is_made_{std::exchange(other.is_made_, false)} {}
  DirectoryToFill& operator=(DirectoryToFill&&) = delete;
  ~DirectoryToFill();

  [[nodiscard]] const UniqueFd& fd() const noexcept { return fd_; }
  void keep() noexcept { is_made_ = false; }

 private:
  DirectoryToFill() = default;

  Location location_ = {};  ///< it is the last to go: those above are removed with it
  UniqueFd fd_ = {};
  struct stat status_ = {};
  bool is_made_ = false;
};

}  // namespace skiff::fs
