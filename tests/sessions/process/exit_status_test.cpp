#include "sessions/process/exit_status.hpp"

#include <cerrno>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

TEST(Cause, HasAUniqueNameForEach) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(Cause::spawn_failed); ++i) {
    EXPECT_TRUE(words.insert(name(static_cast<Cause>(i))).second) << i;
  }
}

TEST(Cause, HasTheNamesOfTheApi) {
  EXPECT_EQ(name(Cause::exited), "exited");
  EXPECT_EQ(name(Cause::signaled), "signaled");
  EXPECT_EQ(name(Cause::timeout), "timeout");
  EXPECT_EQ(name(Cause::idle_timeout), "idle_timeout");
  EXPECT_EQ(name(Cause::output_limit), "output_limit");
  EXPECT_EQ(name(Cause::oom), "oom");
  EXPECT_EQ(name(Cause::oom_guard), "oom_guard");
  EXPECT_EQ(name(Cause::killed_by_client), "killed_by_client");
  EXPECT_EQ(name(Cause::session_deleted), "session_deleted");
  EXPECT_EQ(name(Cause::shutdown), "shutdown");
  EXPECT_EQ(name(Cause::spawn_failed), "spawn_failed");
}

TEST(ShellExitCode, TellsAnAbsentProgramFromOneThatCannotRun) {
  const auto code_of = [](int error) { return shell_exit_code({.stage = "exec", .error = error, .message = {}}); };
  EXPECT_EQ(code_of(ENOENT), 127);
  EXPECT_EQ(code_of(ENOTDIR), 127);
  EXPECT_EQ(code_of(EACCES), 126);
  EXPECT_EQ(code_of(ENAMETOOLONG), 126);
}

}  // namespace
}  // namespace skiff::sessions
