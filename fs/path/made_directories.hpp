#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Directories that were created on the way to a name. The destructor removes the empty ones, because the operation
/// that needed them has failed.
class MadeDirectories {
 public:
  MadeDirectories() = default;
  ~MadeDirectories();
  MadeDirectories(MadeDirectories&& other) noexcept : made_{std::exchange(other.made_, {})} {}
  MadeDirectories& operator=(MadeDirectories&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }

  /// `name` was created in the directory `parent`, below the directories added before.
  void add(int parent, std::string name);

 private:
  std::vector<std::pair<UniqueFd, std::string>> made_;
};

}  // namespace skiff::fs
