#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace skiff::test {

/// A directory with files that look like a container's /proc and /sys/fs/cgroup; gone with its content when the test is
/// over.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "root-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream{path / name} << content;
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::filesystem::create_symlink(target, path / name);
  }
  std::filesystem::path path;
};

}  // namespace skiff::test
