#include "base/log/log_queue.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"
#include "tests/support/pipe.hpp"

namespace skiff {
namespace {

using test::create_pipe;

std::string lost_line(std::uint64_t lines) {
  return "lost " + std::to_string(lines) + "\n";
}

std::string read_to_end(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(size));
  return text;
}

/// Fills the pipe and returns the number of bytes written.
std::size_t fill(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  std::size_t size = 0;
  const std::string part(4096, '.');
  for (ssize_t wrote = 0; (wrote = ::write(fd, part.data(), part.size())) > 0;) size += static_cast<std::size_t>(wrote);
  ::fcntl(fd, F_SETFL, 0);
  return size;
}

std::string read_exactly(int fd, std::size_t size) {
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t part = ::read(fd, text.data() + got, size - got);
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  text.resize(got);
  return text;
}

TEST(LogQueue, WritesLinesInTheirOrderAndAllOfThemBeforeItsEnd) {
  auto pipe = create_pipe();
  std::string expected;
  {
    LogQueue queue{pipe.write.get(), lost_line};
    for (int i = 0; i < 1000; ++i) {
      expected += std::to_string(i) + "\n";
      queue.put(std::to_string(i) + "\n", i % 7 == 0);
    }
  }
  pipe.write.reset();
  EXPECT_EQ(read_to_end(pipe.read.get()), expected);
}

TEST(LogQueue, FlushReturnsWhenAllIsWritten) {
  const UniqueFd file{::memfd_create("log", MFD_CLOEXEC)};
  LogQueue queue{file.get(), lost_line};
  for (int i = 0; i < 50; ++i) {
    queue.put("one\n", false);
    queue.flush();
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 4 * (i + 1));
  }
}

TEST(LogQueue, DropsAndReportsLinesForAPipeThatNobodyReads) {
  auto pipe = create_pipe();
  const std::size_t filled = fill(pipe.write.get());
  LogQueue queue{pipe.write.get(), lost_line, 64};
  for (int i = 0; i < 1000; ++i) queue.put("0123456789\n", true);
  // At most two times 64 bytes are kept: the waiting lines, and those that the thread has taken.
  EXPECT_GE(queue.lost(), 1000U - 10U);
  EXPECT_LT(queue.lost(), 1000U);

  EXPECT_EQ(read_exactly(pipe.read.get(), filled), std::string(filled, '.'));
  std::uint64_t told = 0;
  std::uint64_t came = 0;
  std::string line;
  while (told + came < 1000) {
    const std::string one = read_exactly(pipe.read.get(), 1);
    ASSERT_EQ(one.size(), 1U);
    if (one != "\n") {
      line += one;
      continue;
    }
    if (line.starts_with("lost ")) {
      told += std::stoull(line.substr(5));
    } else {
      EXPECT_EQ(line, "0123456789");
      ++came;
    }
    line.clear();
  }
  EXPECT_EQ(told, queue.lost());
}

TEST(LogQueue, EndsDespiteABlockedDescriptor) {
  const auto pipe = create_pipe();
  fill(pipe.write.get());
  // Run it in a child process, which ends the blocked thread.
  EXPECT_EQ(test::status_in_child([&] {
              {
                LogQueue queue{pipe.write.get(), lost_line};
                queue.put("never read\n", true);
                queue.flush();
              }
              return 42;
            }),
            42);
}

TEST(LogQueue, ALineThatIsLongerThanAPipeTakesAtOnceArrivesWhole) {
  auto pipe = create_pipe();
  const std::string line = std::string(300'000, 'x') + "\n";
  std::string got;
  std::thread reader{[&] { got = read_exactly(pipe.read.get(), line.size() + 6); }};
  {
    LogQueue queue{pipe.write.get(), lost_line};
    queue.put("one\n", false);
    queue.put(line, false);
    queue.put("2\n", false);
  }
  reader.join();
  EXPECT_TRUE(got == "one\n" + line + "2\n");
}

TEST(LogQueue, WaitsForRoomWhereTheDescriptorDoesNotBlock) {
  auto pipe = create_pipe();
  ::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
  std::string expected;
  while (expected.size() < 500'000) expected += std::to_string(expected.size()) + "\n";
  std::string got;
  std::thread reader{[&] { got = read_exactly(pipe.read.get(), expected.size()); }};
  LogQueue queue{pipe.write.get(), lost_line};
  for (std::size_t at = 0; at < expected.size();) {
    const std::size_t end = expected.find('\n', at) + 1;
    queue.put(std::string_view{expected}.substr(at, end - at), false);
    at = end;
  }
  reader.join();
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(queue.lost(), 0U);
}

TEST(LogQueue, CountsLinesLostByABrokenDescriptor) {
  auto pipe = create_pipe();
  pipe.read.reset();
  LogQueue queue{pipe.write.get(), lost_line};
  for (const char* line : {"one\n", "two\n"}) {
    queue.put(line, false);
    queue.flush();
  }
  EXPECT_EQ(queue.lost(), 2U);
}

TEST(LogQueue, ReportsLostLinesOnceTheDescriptorWorks) {
  const UniqueFd target{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  const UniqueFd file{::memfd_create("log", MFD_CLOEXEC)};
  LogQueue queue{target.get(), lost_line};
  for (const char* line : {"one\n", "two\n", "three\n"}) {
    queue.put(line, false);
    queue.flush();
  }
  ASSERT_EQ(::dup3(file.get(), target.get(), O_CLOEXEC), target.get());
  queue.put("four\n", false);
  queue.flush();
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_to_end(file.get()), "four\nlost 3\n");
}

}  // namespace
}  // namespace skiff
