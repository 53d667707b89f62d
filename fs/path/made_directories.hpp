#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Folders that were made on the way to a name. Those that are empty when this goes are removed: what they were made
/// for was not done.
class MadeFolders {
 public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(MadeFolders&& other) noexcept : made_{std::exchange(other.made_, {})} {}
  MadeFolders& operator=(MadeFolders&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }

  /// `name` was made in the folder `parent`, below those that were added before.
  void add(int parent, std::string name);

 private:
  std::vector<std::pair<UniqueFd, std::string>> made_;
};

}  // namespace skiff::fs
