#include "protocol/net/tunnel.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

constexpr TunnelLimits kPatient{.stall = 20s, .silent = 20s};

/// Both ends of a TCP connection.
std::pair<Stream, Stream> pair_of_streams(Executor executor) {
  const UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in at{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {::htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  EXPECT_EQ(::bind(listener.get(), address, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), address, &size), 0);
  UniqueFd one{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  EXPECT_TRUE(::connect(one.get(), address, size) == 0 || errno == EINPROGRESS);
  UniqueFd other{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  return {Stream{executor, std::move(one), "outside"}, Stream{executor, std::move(other), "inside"}};
}

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

/// Two ends as above, of TCP, and pipes for the tunnel between them.
struct Piped {
  explicit Piped(Executor on) : executor{on} {
    std::signal(SIGPIPE, SIG_IGN);
    std::tie(left, left_inside) = pair_of_streams(on);
    std::tie(right, right_inside) = pair_of_streams(on);
    at_left = left_inside.count();
    at_right = right_inside.count();
  }
  [[nodiscard]] TunnelLimits limits(std::chrono::milliseconds stall = 20s) {
    return {.stall = stall, .silent = 20s, .budget = &budget, .who = &who, .pipes = &pipes};
  }
  Task<> close() {
    for (Stream* one : {&left, &left_inside, &right, &right_inside}) one->close();
    co_return;
  }
  static Task<> read_into(Stream* stream, std::string* into) { *into = co_await read_all(stream); }

  Executor executor;
  std::string who = "holder";
  ReceiveBudget budget{8 << 20};
  SplicePipes pipes{4};
  Stream left;
  Stream left_inside;
  Stream right;
  Stream right_inside;
  std::shared_ptr<const Traffic> at_left;
  std::shared_ptr<const Traffic> at_right;
};

/// So many MiB that repeat at no size of a block.
std::string much_of(std::size_t mebibytes) {
  std::string once;
  for (int i = 0; once.size() < 99'991; ++i) once += std::to_string(i);
  std::string all;
  all.reserve((mebibytes << 20U) + once.size());
  while (all.size() < mebibytes << 20U) all += once;
  return all;
}

CO_TEST(TunnelWithPipes, CarriesEveryByteBothWaysAtOnce, Piped& on) {
  const std::string there = much_of(16);
  const std::string back = there.substr(7);
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, on.limits()));
  group.spawn("left", send_and_end(&on.left, there));
  group.spawn("right", send_and_end(&on.right, back));
  std::string arrived;
  group.spawn("reader", Piped::read_into(&on.right, &arrived));
  const std::string returned = co_await read_all(&on.left);
  co_await group.join();
  EXPECT_TRUE(arrived == there);
  EXPECT_TRUE(returned == back);
  EXPECT_EQ(on.pipes.taken(), 0U);
  EXPECT_EQ(on.at_left->received, there.size());
  EXPECT_EQ(on.at_right->sent, there.size());
  EXPECT_EQ(on.at_right->received, back.size());
  EXPECT_EQ(on.at_left->sent, back.size());
}

CO_TEST(TunnelWithPipes, CopiesWhereThereIsNoPipe, Piped& on) {
  const std::string there = much_of(6);
  SplicePipes none{0};
  TunnelLimits limits = on.limits();
  limits.pipes = &none;
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, limits));
  group.spawn("left", send_and_end(&on.left, there));
  const std::string arrived = co_await read_all(&on.right);
  EXPECT_TRUE(arrived == there);
  EXPECT_EQ(on.at_right->sent, there.size());
  on.right.close();
  co_await group.join();
}

CO_TEST(TunnelWithPipes, PassesAnEndOnBehindManyBytes, Piped& on) {
  const std::string there = much_of(6);
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, on.limits()));
  group.spawn("left", send_and_end(&on.left, there));
  const std::string arrived = co_await read_all(&on.right);
  EXPECT_TRUE(arrived == there);
  EXPECT_EQ(on.pipes.taken(), 0U) << "an idle tunnel holds none";
  co_await send_and_end(&on.right, "answered");
  const std::string answered = co_await read_all(&on.left);
  EXPECT_EQ(answered, "answered");
  co_await group.join();
  EXPECT_EQ(on.at_right->sent, there.size());
  EXPECT_EQ(on.at_right->received, answered.size());
}

CO_TEST(TunnelWithPipes, EndsWhenASideTakesNothing, Piped& on) {
  const std::string much = much_of(32);
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, on.limits(50ms)));
  const std::array<std::string_view, 1> parts{much};
  auto sent = co_await on.left.write(parts);
  EXPECT_FALSE(sent.has_value());
  co_await group.join();
  EXPECT_EQ(on.pipes.taken(), 0U);
  EXPECT_EQ(on.budget.used(), 0U);
  // The kernel delivers what it took, and no more was counted.
  const std::string arrived = co_await read_all(&on.right);
  EXPECT_EQ(on.at_right->sent, arrived.size());
  EXPECT_TRUE(much.starts_with(arrived));
}

CO_TEST(TunnelWithPipes, CountsWhatPassedBeforeACut, Piped& on) {
  const std::string much = much_of(32);
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, on.limits()));
  group.spawn("left", [](Stream* from, const std::string* bytes) -> Task<> {
    const std::array<std::string_view, 1> parts{*bytes};
    (void)co_await from->write(parts);
  }(&on.left, &much));
  std::string arrived;
  std::array<char, 100'000> some{};
  while (arrived.size() < much.size() / 4) {
    const auto got = co_await on.right.read_some(some);
    if (!got || *got == 0) break;
    arrived.append(some.data(), *got);
  }
  on.left_inside.close();
  on.right_inside.close();
  arrived += co_await read_all(&on.right);
  co_await group.join();
  EXPECT_LT(arrived.size(), much.size());
  EXPECT_EQ(on.at_right->sent, arrived.size());
  EXPECT_EQ(on.pipes.taken(), 0U);
}

CO_TEST(TunnelWithPipes, EndsWhenItsReceiverBreaksOff, Piped& on) {
  const std::string much = much_of(32);
  TaskGroup group{on.executor};
  group.spawn("tunnel", tunnel(&on.left_inside, &on.right_inside, on.limits()));
  group.spawn("left", [](Stream* from, const std::string* bytes) -> Task<> {
    const std::array<std::string_view, 1> parts{*bytes};
    (void)co_await from->write(parts);
  }(&on.left, &much));
  std::array<char, 100'000> some{};
  (void)co_await on.right.read_some(some);
  on.right.close();
  co_await group.join();
  EXPECT_EQ(on.pipes.taken(), 0U);
  EXPECT_LE(on.at_right->sent, on.at_left->received);
  EXPECT_LT(on.at_left->received, much.size());
}

}  // namespace
}  // namespace skiff::protocol
