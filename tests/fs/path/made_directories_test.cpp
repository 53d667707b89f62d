#include "fs/path/made_directories.hpp"

#include <fcntl.h>

#include <filesystem>

#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

class MadeDirectoriesTest : public test::Files {
 public:
  MadeDirectories make_two() const {
    MadeDirectories made;
    const UniqueFd top{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    std::filesystem::create_directories(root / "a" / "b");
    const UniqueFd a{::open((root / "a").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    made.add(top.get(), "a");
    made.add(a.get(), "b");
    return made;
  }
};

TEST_F(MadeDirectoriesTest, AreRemovedUnlessKept) {
  {
    const MadeDirectories made = make_two();
    EXPECT_TRUE(std::filesystem::exists(root / "a" / "b"));
  }
  EXPECT_FALSE(std::filesystem::exists(root / "a"));
}

TEST_F(MadeDirectoriesTest, StayIfNotEmpty) {
  {
    const MadeDirectories made = make_two();
    test::put(root / "a" / "f", "in use");
  }
  EXPECT_TRUE(std::filesystem::exists(root / "a" / "f"));
  EXPECT_FALSE(std::filesystem::exists(root / "a" / "b"));
}

}  // namespace
}  // namespace skiff::fs
