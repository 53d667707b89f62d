#include "fs/path/directory_reader.hpp"

#include <fcntl.h>

#include <string>

#include "base/unique_fd.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

class DirectoryReaderTest : public test::Files {
 public:
  static std::set<std::string> rest(DirectoryReader& reader) {
    std::set<std::string> names;
    for (DirectoryReader::Name name; reader.next(name).value();) names.insert(std::string{name.name});
    return names;
  }
};

TEST_F(DirectoryReaderTest, GivesEachNameOnceAndNotTheDots) {
  for (const char* name : {"a", "b\n", "\xff", "..."}) test::put(root / name, "");
  const UniqueFd directory{::open(root.c_str(), O_PATH | O_CLOEXEC)};
  DirectoryReader reader = DirectoryReader::open(directory.get()).value();
  const std::set<std::string> all{"a", "b\n", "\xff", "..."};
  EXPECT_EQ(rest(reader), all);
  EXPECT_EQ(rest(reader), std::set<std::string>{});
  reader.rewind();
  EXPECT_EQ(rest(reader), all);
  DirectoryReader second = DirectoryReader::open(directory.get()).value();
  EXPECT_EQ(rest(second), all) << "has a position of its own";
}

TEST_F(DirectoryReaderTest, EndsInADirectoryThatWasRemoved) {
  std::filesystem::create_directory(root / "gone");
  const UniqueFd directory{::open((root / "gone").c_str(), O_PATH | O_CLOEXEC)};
  DirectoryReader reader = DirectoryReader::open(directory.get()).value();
  std::filesystem::remove(root / "gone");
  EXPECT_EQ(rest(reader), std::set<std::string>{});
}

TEST_F(DirectoryReaderTest, RefusesAFile) {
  test::put(root / "f", "");
  const UniqueFd file{::open((root / "f").c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_FALSE(DirectoryReader::open(file.get()));
}

}  // namespace
}  // namespace skiff::fs
