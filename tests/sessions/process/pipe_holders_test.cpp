#include "sessions/process/pipe_holders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.hpp"

namespace skiff::sessions {
namespace {

using test::Tagged;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

ino_t pipe_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

TEST(PipeHolders, AreProcessesOfTheTreeThatCanWrite) {
  Tagged tagged{{"daemon-and-stay"}};
  const pid_t daemon = std::atoi(tagged.line.c_str());
  const auto holders = holders_of(tagged.tag, {pipe_of(tagged.out.get())});
  EXPECT_TRUE(contains(holders, daemon));
  EXPECT_TRUE(contains(holders, tagged.child->pid()));
  struct stat null{};
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  EXPECT_TRUE(holders_of(tagged.tag, {null.st_ino}).empty()) << "a device is not a pipe";
  EXPECT_TRUE(holders_of(tagged.tag, {}).empty());
  EXPECT_TRUE(other_holders_of({pipe_of(tagged.out.get())}, holders).empty());
  signal_tree(tagged.tag, SIGKILL);
}

TEST(PipeHolders, IncludeProcessesOutsideTheTree) {
  const Tagged tagged{{"stay"}};
  const Tagged other{{"stay"}};
  const ino_t inode = pipe_of(tagged.out.get());
  EXPECT_TRUE(holders_of(other.tag, {inode}).empty());
  EXPECT_EQ(other_holders_of({inode}, {}), std::vector<pid_t>{tagged.child->pid()});
  EXPECT_TRUE(other_holders_of({inode}, {tagged.child->pid()}).empty());
}

TEST(PipeHolders, ExcludeProcessesThatOnlyRead) {
  test::Pipe pipe = test::create_pipe();
  const ino_t inode = pipe_of(pipe.read.get());
  SpawnRequest request = test::testcmd({"stay"});
  request.in = std::move(pipe.read);
  const test::Child reader{std::move(request)};
  EXPECT_TRUE(other_holders_of({inode}, {}).empty());
}

}  // namespace
}  // namespace skiff::sessions
