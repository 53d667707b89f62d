#include "sessions/input/stdin_probe.hpp"

#include <sys/stat.h>

#include "sessions/spawn/terminal.hpp"
#include "tests/support/child.hpp"

namespace skiff::sessions {
namespace {

using test::Child;
using test::testcmd;

ino_t inode_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/// Whether /proc/PID/syscall can be read: containers may deny it for other processes (hidepid, a filter, Yama).
bool offered(pid_t pid) {
  const UniqueFd file{::open(("/proc/" + std::to_string(pid) + "/syscall").c_str(), O_RDONLY | O_CLOEXEC)};
  char byte = 0;
  return file && ::read(file.get(), &byte, 1) == 1;
}

/// A tagged process that reads a pipe.
struct OnPipe {
  explicit OnPipe(std::vector<std::string> words) {
    SpawnRequest request = testcmd(std::move(words));
    request.tag = tag;
    request.in = std::move(pipe.read);
    inode = inode_of(request.in.get());
    child.emplace(std::move(request));
  }
  Tag tag = TagSource{}.next();
  test::Pipe pipe = test::create_pipe();
  ino_t inode = 0;
  std::optional<Child> child;
};

class InputWaitOn : public ::testing::TestWithParam<const char*> {};

TEST_P(InputWaitOn, SeesAReaderOfAPipe) {
  const OnPipe reader{{"reader", GetParam()}};
  if (!offered(reader.child->pid())) GTEST_SKIP() << "/proc/PID/syscall is denied here";
  EXPECT_TRUE(test::eventually([&] { return waits_for_input(reader.tag, reader.inode); }));
  EXPECT_FALSE(waits_for_input(reader.tag, reader.inode + 1)) << "another pipe's inode";
}

INSTANTIATE_TEST_SUITE_P(Calls, InputWaitOn, ::testing::Values("read", "poll", "select"));

TEST(InputWait, EndsOnceThereIsInput) {
  OnPipe reader{{"reader", "read"}};
  if (!offered(reader.child->pid())) GTEST_SKIP() << "/proc/PID/syscall is denied here";
  ASSERT_TRUE(test::eventually([&] { return waits_for_input(reader.tag, reader.inode); }));
  ASSERT_EQ(::write(reader.pipe.write.get(), "x", 1), 1);
  EXPECT_EQ(WEXITSTATUS(reader.child->wait()), 0);
  EXPECT_FALSE(waits_for_input(reader.tag, reader.inode));
}

TEST(InputWait, IgnoresAProcessThatWaitsForSomethingElse) {
  test::Pipe out = test::create_pipe();
  SpawnRequest request = testcmd({"stay"}, std::move(out.write));
  request.tag = TagSource{}.next();
  const Tag tag = request.tag;
  test::Pipe in = test::create_pipe();
  const ino_t inode = inode_of(in.read.get());
  request.in = std::move(in.read);
  const Child child{std::move(request)};
  (void)test::read_line(out.read.get());
  EXPECT_FALSE(waits_for_input(tag, inode));
}

class TerminalWait : public ::testing::TestWithParam<const char*> {};

TEST_P(TerminalWait, IsSeen) {
  auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  SpawnRequest request = testcmd({"reader", GetParam()});
  request.tag = TagSource{}.next();
  const Tag tag = request.tag;
  const ino_t inode = inode_of(terminal->slave.get());
  request.in = std::move(terminal->slave);
  request.controlling_terminal = true;
  const Child child{std::move(request)};
  if (!offered(child.pid())) GTEST_SKIP() << "/proc/PID/syscall is denied here";
  EXPECT_TRUE(test::eventually([&] { return waits_for_input(tag, inode); }));
}

INSTANTIATE_TEST_SUITE_P(Ways, TerminalWait, ::testing::Values("read", "tty"));

}  // namespace
}  // namespace skiff::sessions
