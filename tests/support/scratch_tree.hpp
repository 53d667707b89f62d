#pragma once

#include <fcntl.h>
#include <stdlib.h>  // NOLINT: mkdtemp is not in <cstdlib>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace skiff::test {

/// A directory of files that is gone after the test.
class ScratchTree {
 public:
  ScratchTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tree-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] UniqueFd open(const std::string& below = ".") const {
    return UniqueFd{::open((path_ / below).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }
  /// Writes a file, and makes the directories above it.
  void write(const std::string& name, std::string_view content = "") const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream{path_ / name, std::ios::binary} << content;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream{path_ / name, std::ios::binary}.rdbuf();
    return text.str();
  }
  void directory(const std::string& name) const { std::filesystem::create_directories(path_ / name); }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_symlink(target, path_ / name);
  }
  /// Runs a shell line in the directory and returns its exit status.
  int shell(const std::string& line) const {
    return std::system(("cd '" + path_.string() + "' && " + line).c_str());  // NOLINT: tests only
  }

 private:
  std::filesystem::path path_;
};

}  // namespace skiff::test
