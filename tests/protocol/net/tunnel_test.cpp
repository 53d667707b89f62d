#include "protocol/net/tunnel.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

constexpr TunnelLimits kPatient{.stall = 20s, .silent = 20s};

/// Two ends for the test, and between them the two ends of the tunnel.
struct Ends {
  explicit Ends(Executor executor) {
    std::tie(left, left_inside) = pair(executor);
    std::tie(right, right_inside) = pair(executor);
  }
  static std::pair<Stream, Stream> pair(Executor executor) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
    return {Stream{executor, UniqueFd{sockets[0]}, "outside"}, Stream{executor, UniqueFd{sockets[1]}, "inside"}};
  }
  Stream left;
  Stream left_inside;
  Stream right;
  Stream right_inside;
};

Task<> send(Stream* stream, std::string_view text) {
  const std::array<std::string_view, 1> parts{text};
  auto sent = co_await stream->write(parts);
  EXPECT_TRUE(sent.has_value());
}

/// Reads up to the end.
Task<std::string> read_all(Stream* stream) {
  std::string all;
  std::array<char, 10'000> bytes{};
  for (;;) {
    auto got = co_await stream->read_some(bytes);
    if (!got || *got == 0) co_return all;
    all.append(bytes.data(), *got);
  }
}

Task<> send_and_end(Stream* stream, std::string_view text) {
  co_await send(stream, text);
  stream->shutdown_write();
}

CO_TEST(Tunnel, CarriesMuchBothWaysAtOnce) {
  Ends ends{executor};
  std::string there;
  std::string back;
  for (int i = 0; i < 400'000; ++i) {
    there += std::to_string(i);
    back += std::to_string(-i);
  }
  TaskGroup group{executor};
  group.spawn("tunnel", tunnel(&ends.left_inside, &ends.right_inside, kPatient));
  group.spawn("left", send_and_end(&ends.left, there));
  group.spawn("right", send_and_end(&ends.right, back));
  std::string arrived;
  group.spawn("reader", [](Stream* stream, std::string* into) -> Task<> {
    *into = co_await read_all(stream);
  }(&ends.right, &arrived));
  const std::string returned = co_await read_all(&ends.left);
  co_await group.join();
  EXPECT_TRUE(arrived == there);
  EXPECT_TRUE(returned == back);
}

CO_TEST(Tunnel, PassesAnEndOnAndKeepsTheOtherDirection) {
  Ends ends{executor};
  TaskGroup group{executor};
  group.spawn("tunnel", tunnel(&ends.left_inside, &ends.right_inside, kPatient));
  co_await send_and_end(&ends.left, "asked");
  const std::string asked = co_await read_all(&ends.right);
  EXPECT_EQ(asked, "asked");
  EXPECT_EQ(group.size(), 1u);
  co_await send_and_end(&ends.right, "answered");
  const std::string answered = co_await read_all(&ends.left);
  EXPECT_EQ(answered, "answered");
  co_await group.join();
}

CO_TEST(Tunnel, EndsWhenTheOtherSideStaysSilentAfterAnEnd) {
  Ends ends{executor};
  ends.left.shutdown_write();
  co_await tunnel(&ends.left_inside, &ends.right_inside, {.stall = 20s, .silent = 20ms});
  EXPECT_FALSE(ends.left_inside.is_open());
  EXPECT_FALSE(ends.right_inside.is_open());
}

CO_TEST(Tunnel, EndsWhenASideTakesNothing) {
  Ends ends{executor};
  const std::string much(8 * 1024 * 1024, 'x');
  TaskGroup group{executor};
  group.spawn("tunnel", tunnel(&ends.left_inside, &ends.right_inside, {.stall = 20ms, .silent = 20s}));
  const std::array<std::string_view, 1> parts{much};
  auto sent = co_await ends.left.write(parts);
  EXPECT_FALSE(sent.has_value());
  co_await group.join();
}

CO_TEST(Tunnel, EndsWithEitherStream) {
  Ends ends{executor};
  TaskGroup group{executor};
  group.spawn("tunnel", tunnel(&ends.left_inside, &ends.right_inside, kPatient));
  ends.right_inside.close();
  co_await group.join();
  EXPECT_FALSE(ends.left_inside.is_open());
}

CO_TEST(Tunnel, EndsWhenItIsCancelled) {
  Ends ends{executor};
  TaskGroup group{executor};
  group.spawn("tunnel", tunnel(&ends.left_inside, &ends.right_inside, kPatient));
  group.cancel();
  co_await group.join();
}

}  // namespace
}  // namespace skiff::protocol
