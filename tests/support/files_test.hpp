#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fs/path/tree.hpp"
#include "tests/support/temporary_directory.hpp"

/// Helpers that tests of files share: real directories, and a tree over them.
namespace skiff::test {

inline void put(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

inline std::string get(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

using Names = std::set<std::string>;

/// The names in a directory.
inline Names names_in(const std::filesystem::path& directory) {
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator{directory}) names.insert(entry.path().filename());
  return names;
}

/// "ok", or the error's word.
template <class T>
std::string word(const Result<T>& result) {
  return result ? "ok" : std::string{name(result.error().code)};
}

/// `root`, which a session may change; `library`, which it may only read; `outside`, which is none of its business and
/// holds a secret.
class Files : public ::testing::Test {
 protected:
  Files() {
    for (const auto& directory : {root, library, outside}) std::filesystem::create_directory(directory);
    put(outside / "secret", "secret");
    put(library / "book", "words");
  }

  [[nodiscard]] fs::Tree open_tree() const {
    auto tree = fs::Tree::open({.path = root, .access = fs::Access::read_write},
                               {{.path = library, .access = fs::Access::read_only}});
    if (!tree) throw std::runtime_error{tree.error().message};
    return std::move(*tree);
  }

  TemporaryDirectory directory_;

 public:
  const std::filesystem::path& top = directory_.path();
  const std::filesystem::path root = top / "root";
  const std::filesystem::path library = top / "library";
  const std::filesystem::path outside = top / "outside";
};

}  // namespace skiff::test
