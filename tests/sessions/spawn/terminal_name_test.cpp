#include "sessions/spawn/terminal_name.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

TEST(TerminalName, IsKnownByItsDescription) {
  const test::TemporaryDirectory directory;
  for (const char* below : {"own/g", "hex/67", "home/.terminfo/g"}) {
    std::filesystem::create_directories(directory / below);
  }
  EXPECT_FALSE(is_terminal_known("ghost", {}));
  const std::string own = "TERMINFO=" + (directory / "own");
  EXPECT_FALSE(is_terminal_known("ghost", {own.c_str(), nullptr}));
  directory.write("own/g/ghost", "");
  EXPECT_TRUE(is_terminal_known("ghost", {own.c_str(), nullptr}));
  directory.write("hex/67/ghost", "");
  const std::string more = "TERMINFO_DIRS=/nonexistent::" + (directory / "hex");
  EXPECT_TRUE(is_terminal_known("ghost", {more.c_str(), nullptr}));
  directory.write("home/.terminfo/g/ghost", "");
  const std::string home = "HOME=" + (directory / "home");
  EXPECT_TRUE(is_terminal_known("ghost", {home.c_str(), nullptr}));
}

TEST(TerminalName, IsKnownWithoutADescriptionIfCommon) {
  for (const char* name : {"", "dumb", "xterm", "xterm-256color", "linux", "vt100"}) {
    EXPECT_TRUE(is_terminal_known(name, {})) << name;
  }
}

TEST(TerminalName, IsReplacedIfUnknown) {
  std::vector<const char*> environment{"A=1", "TERM=xterm-of-tomorrow", "TERMINAL=x", nullptr};
  name_terminal(environment);
  EXPECT_STREQ(environment[1], kUsualTerminal);
  EXPECT_STREQ(environment[2], "TERMINAL=x");
  environment[1] = "TERM=../../../etc/passwd";
  name_terminal(environment);
  EXPECT_STREQ(environment[1], kUsualTerminal);
  environment[1] = "TERM=dumb";
  name_terminal(environment);
  EXPECT_STREQ(environment[1], "TERM=dumb");
}

}  // namespace
}  // namespace skiff::sessions
