#include "sessions/command_pipes.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

std::string through(const UniqueFd& from, const UniqueFd& to) {
  char text[8]{};
  if (::write(from.get(), "text", 4) != 4) return "not written";
  const ssize_t size = ::read(to.get(), text, sizeof text);
  return size < 0 ? "not read" : std::string(text, static_cast<std::size_t>(size));
}

TEST(CommandPipes, OpenTwoOutputPipesWithoutInput) {
  const auto pipes = CommandPipes::open({});
  ASSERT_TRUE(pipes) << pipes.error().message;
  EXPECT_FALSE(pipes->child_in);
  EXPECT_FALSE(pipes->feed);
  EXPECT_EQ(pipes->stdin_inode, 0U);
  EXPECT_EQ(through(pipes->child_out, pipes->out), "text");
  EXPECT_EQ(through(pipes->child_err, pipes->err), "text");
}

TEST(CommandPipes, OpenAnInputPipeForInputOrAnOpenStdin) {
  CommandSpec spec;
  spec.input_open = true;
  const auto open = CommandPipes::open(spec);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_NE(open->stdin_inode, 0U);
  EXPECT_EQ(through(open->feed, open->child_in), "text");
}

TEST(CommandPipes, MergeBothStreamsIntoOne) {
  CommandSpec spec;
  spec.merge_stderr = true;
  const auto pipes = CommandPipes::open(spec);
  ASSERT_TRUE(pipes) << pipes.error().message;
  EXPECT_FALSE(pipes->err);
  EXPECT_EQ(through(pipes->child_err, pipes->out), "text");
}

TEST(CommandPipes, UseBothSidesOfATerminal) {
  CommandSpec spec;
  spec.terminal = TerminalSize{};
  const auto pipes = CommandPipes::open(spec);
  ASSERT_TRUE(pipes) << pipes.error().message;
  EXPECT_EQ(::isatty(pipes->child_in.get()), 1);
  EXPECT_EQ(through(pipes->child_out, pipes->out), "text");
  EXPECT_TRUE(pipes->terminal);
}

TEST(CommandPipes, ReportTheStepThatLacksDescriptors) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) ::_exit(2);
    const auto pipes = CommandPipes::open({});
    ::_exit(!pipes && pipes.error().stage == "pipe" && pipes.error().error == EMFILE ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace skiff::sessions
