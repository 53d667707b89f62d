#include "protocol/http2/session.hpp"

#include <gtest/gtest.h>

#include <array>

#include <boost/asio/io_context.hpp>

namespace skiff::protocol {
namespace {

constexpr char kReset = 3;
constexpr char kSettings = 4;
constexpr char kPing = 6;
constexpr char kGoAway = 7;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(char kind, char flags, std::uint32_t stream, std::string_view payload) {
  const auto byte = [](std::size_t number, unsigned shift) { return static_cast<char>(number >> shift); };
  std::string text{byte(payload.size(), 16), byte(payload.size(), 8), byte(payload.size(), 0), kind, flags};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) text += byte(stream, shift);
  return text.append(payload);
}

/// The output of a session: the kinds of its frames, and the contents of some.
struct Said {
  std::string kinds;
  int go_away = -1;
  std::string resets;  ///< for each a byte of the stream and one of the code
  std::string settings;
  std::string data;
};

class Http2SessionTest : public testing::Test {
 protected:
  /// Sends the client's SETTINGS, and its ACK of the server's.
  void greet() {
    session.feed(kPreface + frame(kSettings, 0, 0, ""));
    (void)said();
    session.feed(frame(kSettings, 1, 0, ""));
  }

  /// Sends POST / by fields of HPACK's static table and an authority (RFC 7541, appendix A).
  void request(std::uint32_t stream, char flags) { session.feed(frame(1, flags, stream, "\x83\x86\x84\x41\x01x")); }

  Said said(std::size_t enough = 1U << 20U) {
    std::string out;
    session.produce(out, enough);
    Said result;
    for (std::string_view rest{out}; rest.size() >= 9;) {
      std::size_t size = 0;
      for (const char byte : rest.substr(0, 3)) size = size << 8U | static_cast<unsigned char>(byte);
      const std::string_view payload = rest.substr(9, size);
      if (rest[3] == kGoAway) result.go_away = payload[7];
      if (rest[3] == kReset) result.resets += {rest[8], payload[3]};
      if (rest[3] == kSettings) result.settings += payload;
      if (rest[3] == 0) result.data += payload;
      result.kinds += static_cast<char>('0' + rest[3]);
      rest.remove_prefix(9 + size);
    }
    return result;
  }

  boost::asio::io_context io;
  Http2Limits limits{.streams = 4, .stream_window = 1000, .frames = {.burst = 100, .per_second = 1}};
  Http2Session session{io.get_executor(), limits};
};

TEST_F(Http2SessionTest, ARequestIsAnswered) {
  greet();
  EXPECT_TRUE(session.greeted());
  request(1, 5);
  auto requests = session.take_requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_TRUE(session.take_requests().empty());
  Http2Stream& stream = *requests.front();
  EXPECT_EQ(stream.request.method, "POST");
  EXPECT_EQ(stream.request.path, "/");
  EXPECT_EQ(stream.request.authority, "x");
  EXPECT_TRUE(stream.ended);
  session.respond(stream, {{"a", "b"}}, 200, true);
  const std::array<std::string_view, 3> parts{"one", "", "two"};
  stream.outbox = parts;
  stream.trailers.emplace(Headers{{"t", "u"}});
  session.resume(stream);
  const Said words = said();
  EXPECT_EQ(words.data, "onetwo");
  EXPECT_TRUE(stream.outbox.empty());
  EXPECT_EQ(stream.closed, Http2Code::no_error);
  EXPECT_EQ(session.streams(), 0U);
}

TEST_F(Http2SessionTest, AForgottenHeadTakesNoMemory) {
  greet();
  session.feed(frame(1, 4, 1, "\x83\x86\x41\x01x\x04\x78" + std::string(120, '/')));
  const auto requests = session.take_requests();
  ASSERT_EQ(requests.size(), 1U);
  const auto& stream = requests.front();
  EXPECT_EQ(stream->request.path.size(), 120U);
  EXPECT_GT(session.held(), 120U);
  session.forget_head(*stream);
  EXPECT_LT(stream->request.path.capacity(), 120U);
  EXPECT_EQ(session.held(), 0U);
}

TEST_F(Http2SessionTest, OnlyBytesThatWereReadOpenTheWindow) {
  greet();
  request(1, 4);
  auto stream = session.take_requests().front();
  (void)said();
  session.feed(frame(0, 0, 1, std::string(600, 'x')));
  EXPECT_EQ(stream->inbox.size(), 600U);
  EXPECT_EQ(said().kinds, "");
  session.consumed(*stream, 600);
  EXPECT_EQ(said().kinds, "8");
  session.feed(frame(0, 0, 1, std::string(1000, 'x')) + frame(0, 0, 1, "x"));
  EXPECT_EQ(said().resets, "\1\3");  // more than the window had
  EXPECT_TRUE(stream->closed);
}

TEST_F(Http2SessionTest, BytesWaitForTheClientsWindow) {
  session.feed(kPreface + frame(kSettings, 0, 0, std::string("\0\x04\0\0\0\x05", 6)));
  request(1, 5);
  auto stream = session.take_requests().front();
  session.respond(*stream, {}, 200, true);
  const std::array<std::string_view, 1> parts{"0123456789"};
  stream->outbox = parts;
  session.resume(*stream);
  EXPECT_EQ(said().data, "01234");
  EXPECT_EQ(said().data, "");
  session.feed(frame(8, 0, 1, std::string("\0\0\0\x64", 4)));
  EXPECT_EQ(said().data, "56789");
}

TEST_F(Http2SessionTest, ResetsEndStreamsAndNothingElse) {
  greet();
  request(1, 4);
  auto stream = session.take_requests().front();
  session.feed(frame(kReset, 0, 1, std::string("\0\0\0\x08", 4)));
  EXPECT_EQ(stream->closed, Http2Code::cancel);
  request(3, 4);
  session.feed(frame(kReset, 0, 3, std::string("\0\0\0\x08", 4)));
  EXPECT_TRUE(session.take_requests().empty());
  request(5, 4);
  EXPECT_EQ(session.take_requests().size(), 1U);
  EXPECT_TRUE(session.reads());
}

TEST_F(Http2SessionTest, StreamsAboveTheLimitAreRefusedAndNothingElse) {
  session.feed(kPreface + frame(kSettings, 0, 0, ""));
  EXPECT_TRUE(said().settings.contains(std::string("\0\3\0\0\0\4", 6)));  // what the client is told
  for (const bool knows : {false, true}) {
    if (knows) session.feed(frame(kSettings, 1, 0, ""));
    const std::uint32_t first = knows ? 21 : 1;
    for (std::uint32_t i = 0; i < 6; ++i) request(first + 2 * i, 5);
    const auto requests = session.take_requests();
    ASSERT_EQ(requests.size(), 4U);
    EXPECT_EQ(said().resets, (std::string{static_cast<char>(first + 8), 7, static_cast<char>(first + 10), 7}));
    for (const auto& stream : requests) session.respond(*stream, {}, 200, false);
    const Said words = said();
    EXPECT_EQ(words.kinds, "1111");
    EXPECT_EQ(words.go_away, -1);
    EXPECT_EQ(session.streams(), 0U);
  }
}

TEST_F(Http2SessionTest, FloodsAreToldToCalmDown) {
  greet();
  (void)said();
  const std::string ping = frame(kPing, 0, 0, "12345678");
  for (int i = 0; i < 60; ++i) session.feed(ping);
  EXPECT_TRUE(session.reads());
  (void)said();
  for (int i = 0; i < 60; ++i) session.feed(ping);
  EXPECT_FALSE(session.reads());
  EXPECT_TRUE(session.finished());
  EXPECT_EQ(said().go_away, 11);
  EXPECT_EQ(said().kinds, "");
}

TEST_F(Http2SessionTest, AnswersPayForTheFramesThatGoWithThem) {
  greet();
  const std::string update = frame(8, 0, 0, std::string("\0\0\0\x01", 4));
  for (std::uint32_t id = 1; id < 2000; id += 2) {
    request(id, 5);
    auto stream = session.take_requests().front();
    session.respond(*stream, {}, 200, false);
    session.feed(update);
    (void)said();
  }
  EXPECT_TRUE(session.reads());
}

TEST_F(Http2SessionTest, AHeaderSectionInTooManyPiecesEndsIt) {
  greet();
  session.feed(frame(1, 0, 1, ""));
  for (int i = 0; i < 9; ++i) session.feed(frame(9, 0, 1, ""));
  EXPECT_EQ(said().go_away, 11);
}

TEST_F(Http2SessionTest, WhatIsNotHttp2EndsIt) {
  session.feed("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(session.reads());
  EXPECT_EQ(said().go_away, 1);
}

TEST_F(Http2SessionTest, GoAwayLetsStreamsEnd) {
  greet();
  request(1, 5);
  auto stream = session.take_requests().front();
  session.go_away();
  EXPECT_FALSE(session.finished());
  EXPECT_EQ(said().go_away, 0);
  session.respond(*stream, {}, 200, false);
  (void)said();
  EXPECT_TRUE(session.finished());
}

TEST_F(Http2SessionTest, AbandonedStreamsAreOver) {
  greet();
  request(1, 4);
  auto stream = session.take_requests().front();
  session.abandon();
  EXPECT_EQ(stream->closed, Http2Code::cancel);
  session.respond(*stream, {}, 200, true);
  session.reset(*stream, Http2Code::cancel);
  session.consumed(*stream, 1);
  EXPECT_EQ(said().kinds, "");
}

}  // namespace
}  // namespace skiff::protocol
