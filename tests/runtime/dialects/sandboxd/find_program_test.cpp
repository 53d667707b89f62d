#include "runtime/dialects/sandboxd/find_program.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

class FindProgram : public testing::Test {
 protected:
  /// Creates an executable `name` below `directory`, and returns its path.
  std::string program(const std::string& directory, const std::string& name) {
    const std::string below = base / directory;
    std::filesystem::create_directories(below);
    std::ofstream{below + '/' + name} << "#!/bin/sh\n";
    ::chmod((below + '/' + name).c_str(), 0755);
    return below + '/' + name;
  }

  test::TemporaryDirectory temporary;
  std::filesystem::path base = temporary.path();
};

TEST_F(FindProgram, TheCommandsOwnPathComesFirst) {
  program("theirs", "tool");
  program("ours", "tool");
  EXPECT_EQ(find_program("tool", (base / "theirs").string(), (base / "ours").string()), "tool");
}

TEST_F(FindProgram, AMissingProgramIsTakenFromTheAgentsPath) {
  const std::string ours = program("ours", "tool");
  for (const std::string& theirs :
       {std::string{}, std::string{":"}, (base / "nowhere").string(), std::string{"ours:."}}) {
    EXPECT_EQ(find_program("tool", theirs, "/nowhere:" + (base / "ours").string()), ours) << theirs;
  }
}

TEST_F(FindProgram, AFileThatIsNotExecutableIsSkipped) {
  std::filesystem::create_directories(base / "theirs/tool");
  const std::string ours = program("ours", "tool");
  EXPECT_EQ(find_program("tool", (base / "theirs").string(), (base / "ours").string()), ours);
  ::chmod(ours.c_str(), 0644);
  EXPECT_EQ(find_program("tool", "", (base / "ours").string()), "tool");
}

TEST_F(FindProgram, OtherWordsStayAsTheyAre) {
  program("ours", "tool");
  for (const char* word : {"", "./tool", "/bin/tool", "ours/tool", "nope"}) {
    EXPECT_EQ(find_program(word, "", (base / "ours").string()), word);
  }
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
