#include "runtime/reader/outcome.hpp"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/supervised.hpp"

namespace skiff::runtime {
namespace {

StartFault fault_of(int error) {
  return start_fault({.stage = "exec", .error = error, .message = {}});
}

TEST(StartFault, ClassifiesErrorsOfTheSystem) {
  for (const int error : {ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP}) EXPECT_EQ(fault_of(error), StartFault::absent);
  for (const int error : {EACCES, EPERM}) EXPECT_EQ(fault_of(error), StartFault::forbidden);
  EXPECT_EQ(fault_of(E2BIG), StartFault::too_large);
  for (const int error : {EAGAIN, ENOMEM, EMFILE}) EXPECT_EQ(fault_of(error), StartFault::exhausted);
  for (const int error : {ENOEXEC, EIO, 0}) EXPECT_EQ(fault_of(error), StartFault::other);
}

TEST(ExitCode, KeepsTheCodeOfAnExit) {
  sessions::ExitStatus status;
  status.exit_code = 3;
  EXPECT_EQ(python_exit_code(status), 3);
  EXPECT_EQ(go_exit_code(status), 3);
}

TEST(ExitCode, EncodesASignalByLanguage) {
  sessions::ExitStatus status;
  status.signal = 15;
  EXPECT_EQ(python_exit_code(status), -15);
  EXPECT_EQ(go_exit_code(status), -1);
}

CO_TEST(StartFailure, IsKnownOfACommandThatDidNotStart, test::Supervised& on) {
  const auto session = co_await on.session("s");
  sessions::CommandSpec good;
  good.argv = {"/bin/true"};
  sessions::CommandSpec bad;
  bad.argv = {"/nowhere"};
  const auto started = session->start(std::move(good), {});
  const auto failed = session->start(std::move(bad), {});
  CO_ASSERT_TRUE(started && failed);
  co_await started->command->log()->exited();
  co_await failed->command->log()->exited();
  EXPECT_EQ(start_failure(*started->command), nullptr);
  const auto* const failure = start_failure(*failed->command);
  CO_ASSERT_TRUE(failure != nullptr);
  EXPECT_EQ(start_fault(*failure), StartFault::absent);
}

}  // namespace
}  // namespace skiff::runtime
