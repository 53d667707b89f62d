#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Directories that were made on the way to a name. Those that are empty when this goes are removed: what they were
/// made for was not done.
class MadeDirectories {
 public:
  MadeDirectories() = default;
  ~MadeDirectories();
  MadeDirectories(MadeDirectories&& other) noexcept : made_{std::exchange(other.made_, {})} {}
  MadeDirectories& operator=(MadeDirectories&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }

  /// `name` was made in the directory `parent`, below those that were added before.
  void add(int parent, std::string name);

 private:
  std::vector<std::pair<UniqueFd, std::string>> made_;
};

}  // namespace skiff::fs
