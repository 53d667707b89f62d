#include "protocol/http/input.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

void put(ReceiveBuffer& buffer, std::string_view text, std::size_t most) {
  while (!text.empty()) {
    const std::span<char> room = buffer.room(most);
    ASSERT_FALSE(room.empty());
    const std::size_t count = std::min(room.size(), text.size());
    text.copy(room.data(), count);
    buffer.received(count);
    text.remove_prefix(count);
  }
}

TEST(ReceiveBuffer, KeepsBytesInOrderWhileItGrowsAndIsUsed) {
  ReceiveBuffer buffer;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = std::to_string(i) + ",";
    put(buffer, text, 64 * 1024);
    expected += text;
    if (i % 3 == 0) {
      buffer.use(2);
      expected.erase(0, 2);
    }
  }
  EXPECT_EQ(buffer.data(), expected);
  buffer.use(expected.size());
  EXPECT_TRUE(buffer.empty());
}

TEST(ReceiveBuffer, HoldsNoMoreThanItsLimit) {
  ReceiveBuffer buffer;
  put(buffer, std::string(5000, 'a'), 5000);
  EXPECT_TRUE(buffer.room(5000).empty());
  EXPECT_EQ(buffer.data().size(), 5000u);
  buffer.use(1);
  EXPECT_EQ(buffer.room(5000).size(), 1u);
  buffer.release();
  EXPECT_TRUE(buffer.empty());
}

struct Pipe {
  explicit Pipe(Executor executor) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
    stream = Stream{executor, UniqueFd{sockets[0]}, "here"};
    far = Stream{executor, UniqueFd{sockets[1]}, "there"};
  }
  void send(std::string_view text) {
    const std::array<std::string_view, 1> parts{text};
    EXPECT_EQ(far.try_write(parts).value(), text.size());
  }
  Stream stream;
  Stream far;
  HttpInput input{stream};
};

Task<> read_all(HttpInput* input, std::string* into) {
  std::array<char, 5> piece{};
  for (;;) {
    auto got = co_await input->read_body(piece, kForever);
    EXPECT_TRUE(got.has_value());
    if (!got || *got == 0) co_return;
    into->append(piece.data(), *got);
  }
}

CO_TEST(HttpInput, TellsWhetherABodyHasSomethingToRead) {
  Pipe pipe{executor};
  pipe.input.begin_body({BodyFraming::Kind::chunked, 0});
  EXPECT_FALSE(pipe.input.has_body());
  std::array<char, 5> piece{};
  pipe.send("3\r\nabc\r\n4");
  auto got = co_await pipe.input.read_body(piece, kForever);
  EXPECT_EQ(got.value_or(0), 3u);
  EXPECT_FALSE(pipe.input.has_body()) << "what is behind the chunk frames the next one";
  pipe.send("\r\nd");
  auto filled = co_await pipe.input.fill(1024, kForever);
  EXPECT_TRUE(filled.has_value() && pipe.input.has_body());
  got = co_await pipe.input.read_body(piece, kForever);
  EXPECT_EQ(got.value_or(0), 1u);
  pipe.send("ef!broken");
  filled = co_await pipe.input.fill(1024, kForever);
  got = co_await pipe.input.read_body(piece, kForever);
  EXPECT_EQ(got.value_or(0), 3u);
  EXPECT_TRUE(pipe.input.has_body()) << "an error is something, too";
  for (int again = 0; again < 2; ++again) {
    got = co_await pipe.input.read_body(piece, kForever);
    EXPECT_EQ(got.error().code, Errc::invalid_request);
  }
}

/// Watches for the end, like a handler that must notice when its client disconnects.
Task<> watch(HttpInput* input) {
  while (!input->ended()) {
    auto filled = co_await input->fill(1024, kForever);
    if (!filled) co_return;
  }
}

CO_TEST(HttpInput, KeepsTheOrderWhenTheEndIsWatchedWhileABodyIsRead) {
  for (const BodyFraming framing :
       {BodyFraming{BodyFraming::Kind::length, 30}, BodyFraming{BodyFraming::Kind::chunked, 0},
        BodyFraming{BodyFraming::Kind::until_close, 0}}) {
    for (const bool watch_first : {false, true}) {
      Pipe pipe{executor};
      pipe.input.begin_body(framing);
      std::string body;
      TaskGroup group{executor};
      if (watch_first) group.spawn("watch", watch(&pipe.input));
      group.spawn("read", read_all(&pipe.input, &body));
      if (!watch_first) group.spawn("watch", watch(&pipe.input));
      std::string expected;
      for (int i = 0; i < 10; ++i) {
        const std::string text = std::to_string(100 + i);
        expected += text;
        pipe.send(framing.kind == BodyFraming::Kind::chunked ? "3\r\n" + text + "\r\n" : text);
        // Both waits end, whichever comes first on the reactor.
        auto writable = co_await pipe.far.writable();
        EXPECT_TRUE(writable.has_value());
      }
      if (framing.kind == BodyFraming::Kind::chunked) pipe.send("0\r\n\r\n");
      pipe.far.shutdown_write();
      co_await group.join();
      EXPECT_EQ(body, expected);
    }
  }
}

CO_TEST(HttpInput, TellsACutBodyFromAWholeOne) {
  for (const auto& [framing, bytes] : {std::pair{BodyFraming{BodyFraming::Kind::length, 4}, "abc"},
                                       {BodyFraming{BodyFraming::Kind::chunked, 0}, "3\r\nabc\r\n"},
                                       {BodyFraming{BodyFraming::Kind::chunked, 0}, "5\r\nabc"}}) {
    Pipe pipe{executor};
    pipe.input.begin_body(framing);
    pipe.send(bytes);
    pipe.far.shutdown_write();
    auto body = co_await pipe.input.read_whole_body(100, 1s);
    CO_ASSERT_TRUE(!body.has_value());
    EXPECT_EQ(body.error().code, Errc::invalid_request);
  }
}

CO_TEST(HttpInput, RefusesBytesOfABodyAfterItsTimeIsOver) {
  for (const BodyFraming framing : {BodyFraming{BodyFraming::Kind::length, 10}, {BodyFraming::Kind::chunked, 0}}) {
    Pipe pipe{executor};
    std::array<char, 5> piece{};
    const auto is_refused = [&]() -> Task<bool> {
      auto got = co_await pipe.input.read_body(piece, kForever);
      co_return !got && got.error().code == Errc::unauthenticated;
    };
    pipe.input.begin_body(framing);
    pipe.input.end_body_at(wall_now() + 20ms);
    EXPECT_TRUE(co_await is_refused()) << "nothing came";
    pipe.send("3\r\nabc\r\n");
    EXPECT_TRUE(co_await is_refused()) << "what came is too late";
    auto ready = co_await pipe.input.body_readable(kForever);
    CO_ASSERT_TRUE(!ready.has_value());
    EXPECT_EQ(ready.error().code, Errc::unauthenticated);
    pipe.input.begin_body(framing);
    auto got = co_await pipe.input.read_body(piece, kForever);
    EXPECT_TRUE(got.has_value()) << "the next request has an end of its own";
    pipe.input.end_body_at(wall_now() + 1h);
    while (got) got = co_await pipe.input.read_body(piece, 10ms);
    EXPECT_EQ(got.error().code, Errc::timeout) << "a pause is judged as ever";
  }
}

constexpr std::size_t kLarge = std::size_t{2} << 20U;

Task<> read_whole(HttpInput* input, ReceiveBudget* budget, std::optional<Result<std::string>>* body) {
  *body = co_await input->read_whole_body(kLarge, 200ms, budget);
}

CO_TEST(HttpInput, GivesASlowBodyUpWhenAnotherNeedsTheRoom) {
  for (const bool has_end : {false, true}) {
    ReceiveBudget budget{kLarge};
    Pipe pipe{executor};
    pipe.input.begin_body({BodyFraming::Kind::length, kLarge});
    if (has_end) pipe.input.end_body_at(wall_now() + 1h);
    std::optional<Result<std::string>> body;
    TaskGroup group{executor};
    group.spawn("read", read_whole(&pipe.input, &budget, &body));
    const std::string who = "other";
    ReceiveBudget::Share other{&budget, {.who = &who, .patience = 1h}, [] {}};
    EXPECT_FALSE(other.hold(kLarge)) << "it has not taken long yet";
    while (!body && !other.hold(kLarge)) {
      pipe.send("x");
      co_await pause(1ms);
    }
    co_await group.join();
    CO_ASSERT_TRUE(body.has_value() && !body->has_value());
    EXPECT_EQ(body->error().code, Errc::resource_exhausted);
  }
}

CO_TEST(HttpInput, LeavesWhatFollowsABodyInTheBuffer) {
  Pipe pipe{executor};
  pipe.input.begin_body({BodyFraming::Kind::chunked, 0});
  pipe.send("3\r\nabc\r\n0\r\nT: v\r\n\r\nNEXT");
  auto body = co_await pipe.input.read_whole_body(SIZE_MAX, 1s);
  EXPECT_EQ(body.value(), "abc");
  EXPECT_EQ(pipe.input.trailers().get("t"), "v");
  EXPECT_EQ(pipe.input.buffer().data(), "NEXT");
}

}  // namespace
}  // namespace skiff::protocol
