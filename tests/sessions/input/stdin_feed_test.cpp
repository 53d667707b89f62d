#include "sessions/input/stdin_feed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/async/task_group.hpp"
#include "sessions/spawn/terminal.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;

/// A command's stdin, and the command that reads it on request.
struct Fed {
  explicit Fed(Executor executor) : Fed{executor, test::create_pipe()} {}
  Fed(Executor executor, test::Pipe pipe)
      : source{without_waiting(std::move(pipe.read))},
        feed{executor, without_waiting(std::move(pipe.write)), false},
        tasks{executor} {}
  static UniqueFd without_waiting(UniqueFd end) {
    ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
    return end;
  }

  static Task<> write(Fed* self, std::string bytes) {
    auto taken = co_await self->feed.write(Slice{std::move(bytes)}, std::nullopt);
    if (taken) self->offsets.push_back(*taken);
  }
  std::string read() const {
    std::string bytes(1'000'000, '\0');
    const ssize_t got = ::read(source.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

  UniqueFd source;
  StdinFeed feed;
  std::vector<std::uint64_t> offsets;
  TaskGroup tasks;
};

CO_TEST(StdinFeed, LetsWritersTakeTurns) {
  Fed fed{executor};
  fed.tasks.spawn("first", Fed::write(&fed, std::string(300'000, 'a')));
  fed.tasks.spawn("second", Fed::write(&fed, "b"));
  std::string all;
  while (all.size() < 300'001) {
    all += fed.read();
    co_await test::pause(1ms);
  }
  EXPECT_EQ(all, std::string(300'000, 'a') + 'b');
  co_await fed.tasks.join();
  EXPECT_EQ(fed.offsets, (std::vector<std::uint64_t>{300'000, 300'001}));
}

CO_TEST(StdinFeed, DoesNotCountTheEndOfFileKeyOfATerminal) {
  auto terminal = open_terminal({});
  CO_ASSERT_TRUE(terminal.has_value());
  StdinFeed feed{executor, std::move(terminal->master), true};
  auto written = co_await feed.write(Slice{std::string{"one\n"}}, std::uint64_t{0});
  EXPECT_TRUE(written.has_value());
  auto finished = co_await feed.finish();
  EXPECT_TRUE(finished.has_value());
  CO_ASSERT_TRUE(feed.offset() == 4U);
  // The input of a terminal continues, at the client's offset.
  written = co_await feed.write(Slice{std::string{"two\n"}}, std::uint64_t{4});
  EXPECT_TRUE(written.has_value());
  std::string read;
  char block[64];
  while (!read.ends_with("two\n")) {
    const ssize_t got = ::read(terminal->slave.get(), block, sizeof block);
    CO_ASSERT_TRUE(got >= 0);
    read.append(block, static_cast<std::size_t>(got));
    if (got == 0) read += "<end>";
    CO_ASSERT_TRUE(read.size() < 100U);
  }
  EXPECT_EQ(read, "one\n<end>two\n");
}

CO_TEST(StdinFeed, SkipsBytesOfARepeatedWrite) {
  Fed fed{executor};
  EXPECT_EQ((co_await fed.feed.write(Slice{std::string{"abc"}}, 0)).value(), 3u);
  EXPECT_EQ((co_await fed.feed.write(Slice{std::string{"abcd"}}, 0)).value(), 4u);
  EXPECT_EQ((co_await fed.feed.write(Slice{std::string{"x"}}, 9)).error().code, Errc::stdin_offset_mismatch);
  EXPECT_EQ(fed.read(), "abcd");
}

CO_TEST(StdinFeed, EndsWritersThatWaitWhenItCloses) {
  Fed fed{executor};
  fed.tasks.spawn("first", Fed::write(&fed, std::string(300'000, 'a')));
  fed.tasks.spawn("second", Fed::write(&fed, "b"));
  co_await test::pause(1ms);
  fed.feed.close();
  co_await fed.tasks.join();
  EXPECT_TRUE(fed.offsets.empty());
  EXPECT_EQ((co_await fed.feed.write(Slice{std::string{"c"}}, std::nullopt)).error().code, Errc::stdin_closed);
}

}  // namespace
}  // namespace skiff::sessions
