#include "protocol/net/stream.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

std::pair<Stream, Stream> connected_pair(Executor executor) {
  std::array<int, 2> sockets{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
  return {Stream{executor, UniqueFd{sockets[0]}, "a"}, Stream{executor, UniqueFd{sockets[1]}, "b"}};
}

Task<> read_into(Stream* stream, std::string* into, std::size_t size) {
  std::vector<char> bytes(64 * 1024);
  while (into->size() < size) {
    auto got = co_await stream->read_some(bytes);
    if (!got || *got == 0) co_return;
    into->append(bytes.data(), *got);
  }
}

CO_TEST(Stream, WritesEverythingInOrderFromManyParts) {
  auto [a, b] = connected_pair(executor);
  std::vector<std::string> texts;
  std::string all;
  for (int i = 0; i < 500; ++i) {
    texts.push_back(i % 7 == 0 ? std::string{}
                               : std::string(static_cast<std::size_t>(i) * 20, static_cast<char>('a' + i % 26)));
    all += texts.back();
  }
  const std::vector<std::string_view> parts{texts.begin(), texts.end()};
  std::string received;
  TaskGroup group{executor};
  group.spawn("reader", read_into(&b, &received, all.size()));
  auto written = co_await a.write(parts);
  EXPECT_TRUE(written.has_value());
  co_await group.join();
  EXPECT_TRUE(received == all);
}

CO_TEST(Stream, SeesTheEndAfterTheLastBytes) {
  auto [a, b] = connected_pair(executor);
  const std::array<std::string_view, 1> parts{"bye"};
  auto written = co_await a.write(parts);
  EXPECT_TRUE(written.has_value());
  a.shutdown_write();
  std::array<char, 16> bytes{};
  auto got = co_await b.read_some(bytes);
  EXPECT_EQ(got.value(), 3u);
  got = co_await b.read_some(bytes);
  EXPECT_EQ(got.value(), 0u);
  // The other direction is still open.
  written = co_await b.write(parts);
  EXPECT_TRUE(written.has_value());
  got = co_await a.read_some(bytes);
  EXPECT_EQ(got.value(), 3u);
}

CO_TEST(Stream, EndsWaitsAtTheirLimit) {
  auto [a, b] = connected_pair(executor);
  std::array<char, 16> bytes{};
  auto got = co_await a.read_some(bytes, 20ms);
  CO_ASSERT_TRUE(!got.has_value());
  EXPECT_EQ(got.error().code, Errc::timeout);
  const std::string large(8 * 1024 * 1024, 'x');
  const std::array<std::string_view, 1> parts{large};
  auto written = co_await a.write(parts, 20ms);
  CO_ASSERT_TRUE(!written.has_value());
  EXPECT_EQ(written.error().code, Errc::timeout);
}

Task<> read_once(Stream* stream, std::optional<Result<std::size_t>>* result, std::chrono::milliseconds limit) {
  std::array<char, 16> bytes{};
  *result = co_await stream->read_some(bytes, limit);
}

CO_TEST(Stream, DoesNotEndAReadBecauseAWriteReachedItsLimit) {
  auto [a, b] = connected_pair(executor);
  TaskGroup group{executor};
  std::optional<Result<std::size_t>> read;
  group.spawn("reader", read_once(&a, &read, 5s));
  const std::string large(8 * 1024 * 1024, 'x');
  const std::array<std::string_view, 1> parts{large};
  auto written = co_await a.write(parts, 20ms);
  EXPECT_FALSE(written.has_value());
  EXPECT_FALSE(read.has_value());
  const std::array<std::string_view, 1> answer{"now"};
  written = co_await b.write(answer);
  EXPECT_TRUE(written.has_value());
  co_await group.join();
  EXPECT_EQ(read.value().value(), 3u);
}

CO_TEST(Stream, EndsWhatIsUnderWayWhenItIsCancelledClosedOrDestroyed) {
  for (const int way : {0, 1, 2, 3}) {
    auto [a, b] = connected_pair(executor);
    std::optional<Stream> stream{std::move(a)};
    TaskGroup group{executor};
    std::optional<Result<std::size_t>> read;
    group.spawn("reader", read_once(&*stream, &read, way == 3 ? 5s : kForever));
    EXPECT_FALSE(read.has_value());
    if (way == 0) stream->cancel();
    if (way == 1) stream->close();
    if (way >= 2) stream.reset();
    co_await group.join();
    CO_ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->error().code, Errc::cancelled) << way;
    if (way == 0) {
      EXPECT_TRUE(stream->is_open());
    }
  }
}

CO_TEST(Stream, EndsACancelledCoroutineWithAnException) {
  auto [a, b] = connected_pair(executor);
  TaskGroup group{executor};
  std::optional<Result<std::size_t>> read;
  group.spawn("reader", read_once(&a, &read, 5s));
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(read.has_value());
  EXPECT_TRUE(a.is_open());
}

CO_TEST(Stream, FailsWithoutASignalWhenThePeerIsGone) {
  auto [a, b] = connected_pair(executor);
  b.close();
  const std::array<std::string_view, 1> parts{"x"};
  auto written = co_await a.write(parts);
  EXPECT_FALSE(written.has_value());
  auto broken = co_await a.broken();
  EXPECT_TRUE(broken.has_value());
}

CO_TEST(Stream, ClosesItsDescriptorOnce) {
  auto [a, b] = connected_pair(executor);
  const int number = a.fd();
  a.close();
  EXPECT_EQ(a.fd(), -1);
  // The number is free and is reused, and the new descriptor must stay open.
  const UniqueFd other{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(other.get(), number);
  a.close();
  {
    const Stream moved = std::move(a);
  }
  EXPECT_GE(::fcntl(other.get(), F_GETFD), 0);
  co_return;
}

}  // namespace
}  // namespace skiff::protocol
