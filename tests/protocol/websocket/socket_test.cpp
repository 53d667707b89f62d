#include "protocol/websocket/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using MessageKind = WebSocket::Kind;

struct StreamPair {
  Stream server;
  Stream client;
};

/// Both ends of a TCP connection over loopback. `buffer_bytes` sets small socket buffers, which fill soon.
StreamPair connected(Executor executor, int buffer_bytes = 0) {
  const UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const auto shrink = [&](int fd) {
    if (buffer_bytes == 0) return;
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
  };
  shrink(listener.get());
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  UniqueFd client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  shrink(client.get());
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  UniqueFd server{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  EXPECT_TRUE(server);
  shrink(server.get());
  EXPECT_EQ(::fcntl(client.get(), F_SETFL, ::fcntl(client.get(), F_GETFL) | O_NONBLOCK), 0);
  return {Stream{executor, std::move(server), "client"}, Stream{executor, std::move(client), "server"}};
}

WebSocket::Options options_for(Side side) {
  WebSocket::Options options;
  options.side = side;
  if (side == Side::client) options.max_message_bytes = 4 * 1024 * 1024;
  return options;
}

struct Both {
  explicit Both(Executor executor, StreamPair pair, WebSocket::Options server_options = options_for(Side::server))
      : server{std::move(pair.server), {}, server_options},
        client{std::move(pair.client), {}, options_for(Side::client)},
        group{executor} {}
  WebSocket server;
  WebSocket client;
  TaskGroup group;
};

/// A client's frame, masked with zeros so that the test can read it.
std::string readable_frame(unsigned first, std::string_view payload) {
  std::string out{static_cast<char>(first)};
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else {
    out += {static_cast<char>(0x80 | 126), static_cast<char>(payload.size() >> 8),
            static_cast<char>(payload.size() & 0xFF)};
  }
  return out + std::string(4, '\0') + std::string{payload};
}

Task<> write_raw(Stream* stream, std::string bytes) {
  const std::string_view part{bytes};
  const auto written = co_await stream->write({&part, 1});
  EXPECT_TRUE(written);
}

Task<std::string> read_raw(Stream* stream, std::size_t size) {
  std::string out(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const auto got = co_await stream->read_some(std::span{out}.subspan(have));
    if (!got || *got == 0) break;
    have += *got;
  }
  out.resize(have);
  co_return out;
}

/// Reads until the end of the stream.
Task<std::string> read_rest(Stream* stream) {
  std::string out;
  while (true) {
    std::string piece = co_await read_raw(stream, 4096);
    out += piece;
    if (piece.size() < 4096) co_return out;
  }
}

Task<> echo_messages(WebSocket* socket) {
  while (true) {
    auto message = co_await socket->read();
    if (!message) co_return;
    const std::string_view part{message->payload};
    const auto sent = co_await socket->send(message->kind, {&part, 1});
    if (!sent) co_return;
  }
}

/// Reads until the end and keeps the reason.
Task<> read_to_end(WebSocket* socket, std::optional<Error>* end) {
  while (true) {
    auto message = co_await socket->read();
    if (message) continue;
    *end = message.error();
    co_return;
  }
}

CO_TEST(WebSocket, CarriesMessagesOfEverySizeBothWays) {
  auto both = std::make_unique<Both>(executor, connected(executor));
  both->group.spawn("echo", echo_messages(&both->server));
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 100'000U, 1024U * 1024U}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>('a' + i % 26);
    for (const MessageKind kind : {MessageKind::text, MessageKind::binary}) {
      // Send two messages together, so that the answer to the first does not wait for the second.
      for (int i = 0; i < 2; ++i)
        both->group.spawn("send", [](WebSocket* socket, MessageKind k, std::string p) -> Task<> {
          const auto sent = co_await socket->send(k, std::move(p));
          EXPECT_TRUE(sent);
        }(&both->client, kind, payload));
      for (int i = 0; i < 2; ++i) {
        const auto answer = co_await both->client.read();
        CO_ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->kind, kind);
        EXPECT_TRUE(answer->payload == payload) << size;
      }
    }
  }
  co_await both->client.close(1000, "done");
  co_await both->group.join();
  CO_ASSERT_TRUE(both->server.closed());
  EXPECT_EQ(both->server.closed()->code, 1000);
  EXPECT_EQ(both->server.closed()->reason, "done");
  EXPECT_TRUE(both->server.closed()->by_peer);
  EXPECT_FALSE(both->client.closed()->by_peer);
}

Task<> send_series(WebSocket* socket, unsigned char who, int count, std::size_t size) {
  for (int i = 0; i < count; ++i) {
    const std::string head{static_cast<char>(who), static_cast<char>(i)};
    const std::string body(size, static_cast<char>(who ^ i));
    const std::array<std::string_view, 3> parts{head, body, head};
    const auto sent = co_await socket->send(MessageKind::binary, parts);
    EXPECT_TRUE(sent) << sent.error().message;
  }
}

Task<> send_large(WebSocket* socket, std::optional<Result<>>* result) {
  const std::string bytes(4 * 1024 * 1024, 'x');
  const std::string_view part{bytes};
  *result = co_await socket->send(MessageKind::binary, {&part, 1});
}

CO_TEST(WebSocket, LetsManySendersTakeTurnsInTheOrderTheyCame) {
  auto both = std::make_unique<Both>(executor, connected(executor, 16 * 1024), options_for(Side::server));
  constexpr int kSenders = 40, kEach = 20;
  std::optional<Result<>> first;
  both->group.spawn("first", send_large(&both->server, &first));  // all others come while this one is under way
  for (int who = 0; who < kSenders; ++who) {
    both->group.spawn("send", send_series(&both->server, static_cast<unsigned char>(who), kEach,
                                          static_cast<std::size_t>(who) * 500));
  }
  std::optional<Error> end;
  both->group.spawn("server", read_to_end(&both->server, &end));
  const auto large = co_await both->client.read();
  CO_ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->payload.size(), 4U * 1024 * 1024);
  for (int round = 0; round < kEach; ++round) {
    for (int who = 0; who < kSenders; ++who) {
      const auto message = co_await both->client.read();
      CO_ASSERT_TRUE(message) << message.error().message;
      const std::string head{static_cast<char>(who), static_cast<char>(round)};
      const std::string body(static_cast<std::size_t>(who) * 500, static_cast<char>(who ^ round));
      CO_ASSERT_TRUE(message->payload == head + body + head) << "not the turn of " << who << " in round " << round;
    }
  }
  co_await both->client.close(1000, "");
  co_await both->group.join();
}

CO_TEST(WebSocket, AnswersPingsBetweenTheMessagesOfOthers) {
  StreamPair pair = connected(executor, 16 * 1024);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  TaskGroup group{executor};
  std::optional<Error> end;
  group.spawn("read", read_to_end(&server, &end));
  co_await write_raw(&pair.client, readable_frame(0x89, "one"));
  EXPECT_EQ(co_await read_raw(&pair.client, 5), "\x8A\x03one");
  // A ping waits while a message that the peer does not read yet is being sent; its answer follows the message.
  const std::string large(8 * 1024 * 1024, 'x');
  group.spawn("send", [](WebSocket* socket, const std::string* bytes) -> Task<> {
    const std::string_view part{*bytes};
    const auto sent = co_await socket->send(MessageKind::binary, {&part, 1});
    EXPECT_TRUE(sent);
  }(&server, &large));
  co_await write_raw(&pair.client, readable_frame(0x89, "two") + readable_frame(0x89, "three"));
  const std::string first = co_await read_raw(&pair.client, 10 + large.size());
  EXPECT_EQ(first.substr(0, 2), "\x82\x7F");
  const std::string answer = co_await read_raw(&pair.client, 7);
  EXPECT_EQ(answer, "\x8A\x05three") << "the latest ping is answered";
  server.abort();
  co_await group.join();
  CO_ASSERT_TRUE(end);
  EXPECT_EQ(end->code, Errc::cancelled);
}

CO_TEST(WebSocket, ClosesInGoodOrderFromTheServersSide) {
  StreamPair pair = connected(executor);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  TaskGroup group{executor};
  group.spawn("close", server.close(4004, "session deleted"));
  EXPECT_EQ(co_await read_raw(&pair.client, 19), "\x88\x11\x0F\xA4session deleted");
  EXPECT_FALSE(group.empty()) << "it waits for the answer";
  // Bytes in flight are dropped; the answer ends the connection.
  co_await write_raw(&pair.client, readable_frame(0x81, "late") + readable_frame(0x88, "\x0F\xA4"));
  EXPECT_EQ(co_await read_rest(&pair.client), "");
  co_await group.join();
  EXPECT_EQ(server.closed()->code, 4004);
  EXPECT_FALSE(server.closed()->by_peer);
  const auto message = co_await server.read();
  EXPECT_EQ(message.error().code, Errc::cancelled);
  const auto sent = co_await server.send(MessageKind::text, "x");
  EXPECT_EQ(sent.error().code, Errc::cancelled);
}

CO_TEST(WebSocket, ClosesWhileAnotherCoroutineReads) {
  auto both = std::make_unique<Both>(executor, connected(executor));
  std::optional<Error> server_end, client_end;
  both->group.spawn("server", read_to_end(&both->server, &server_end));
  both->group.spawn("client", read_to_end(&both->client, &client_end));
  both->group.spawn("close", both->server.close(1001, "shutdown"));
  both->group.spawn("close", both->client.close(1000, "bye"));
  co_await both->group.join();
  CO_ASSERT_TRUE(server_end && client_end);
  EXPECT_EQ(server_end->code, Errc::cancelled);
  EXPECT_EQ(client_end->code, Errc::cancelled);
}

CO_TEST(WebSocket, EchoesTheCloseOfItsPeer) {
  StreamPair pair = connected(executor);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  co_await write_raw(&pair.client, readable_frame(0x82, "m") + readable_frame(0x88, "\x03\xE9going"));
  const auto message = co_await server.read();
  CO_ASSERT_TRUE(message);
  EXPECT_EQ(message->payload, "m");
  EXPECT_FALSE(server.closed());
  const auto end = co_await server.read();
  CO_ASSERT_TRUE(!end);
  EXPECT_EQ(end.error().code, Errc::cancelled);
  EXPECT_EQ(server.closed()->code, 1001);
  EXPECT_EQ(server.closed()->reason, "going");
  EXPECT_EQ(co_await read_rest(&pair.client), "\x88\x02\x03\xE9");
}

CO_TEST(WebSocket, TellsAPeerThatBreaksTheProtocolAndKeepsTheCloseFrameFromAReset) {
  struct Breach {
    std::string bytes;
    std::uint16_t code;
    Errc error;
  };
  const std::vector<Breach> breaches{{std::string{"\x81\x01x"}, 1002, Errc::invalid_request},
                                     {readable_frame(0x81, "\xFF"), 1007, Errc::invalid_request},
                                     {readable_frame(0x82, std::string(2000, 'x')), 1009, Errc::payload_too_large}};
  for (const Breach& breach : breaches) {
    StreamPair pair = connected(executor);
    WebSocket::Options options = options_for(Side::server);
    options.max_message_bytes = 1000;
    WebSocket server{std::move(pair.server), {}, options};
    TaskGroup group{executor};
    std::optional<Error> end;
    group.spawn("read", read_to_end(&server, &end));
    // Many bytes follow the message; unread, they would make the kernel reset the connection.
    co_await write_raw(&pair.client, breach.bytes + std::string(300'000, 'z'));
    const std::string close = co_await read_raw(&pair.client, 4);
    CO_ASSERT_TRUE(close.size() == 4);
    EXPECT_EQ(static_cast<unsigned char>(close[0]), 0x88);
    EXPECT_EQ(static_cast<unsigned char>(close[2]) << 8 | static_cast<unsigned char>(close[3]), breach.code);
    pair.client.close();
    co_await group.join();
    CO_ASSERT_TRUE(end);
    EXPECT_EQ(end->code, breach.error);
    EXPECT_EQ(server.closed()->code, breach.code);
  }
}

CO_TEST(WebSocket, NoticesAConnectionThatEndsWithoutAClose) {
  StreamPair pair = connected(executor);
  WebSocket server{std::move(pair.server), readable_frame(0x01, "ha"), options_for(Side::server)};
  pair.client.close();
  const auto end = co_await server.read();
  CO_ASSERT_TRUE(!end);
  EXPECT_EQ(end.error().code, Errc::io_error);
  EXPECT_EQ(server.closed()->code, 1006);
}

CO_TEST(WebSocket, ReadsWhatCameBehindTheHandshake) {
  StreamPair pair = connected(executor);
  const std::string early =
      readable_frame(0x81, "one") + readable_frame(0x81, "two") + readable_frame(0x81, "three").substr(0, 8);
  WebSocket server{std::move(pair.server), early, options_for(Side::server)};
  co_await write_raw(&pair.client, readable_frame(0x81, "three").substr(8));
  for (const std::string expected : {"one", "two", "three"}) {
    const auto message = co_await server.read();
    CO_ASSERT_TRUE(message);
    EXPECT_EQ(message->payload, expected);
  }
}

WebSocket::Options impatient() {
  WebSocket::Options options;
  options.write_deadline = 100ms;
  options.close_timeout = 3s;
  return options;
}

CO_TEST(WebSocket, ClosesWith4008APeerThatReadsTooSlowlyAndGoesOnInTime) {
  StreamPair pair = connected(executor, 16 * 1024);
  WebSocket server{std::move(pair.server), {}, impatient()};
  TaskGroup group{executor};
  std::optional<Result<>> sent, second;
  std::optional<Error> end;
  group.spawn("read", read_to_end(&server, &end));
  group.spawn("send", send_large(&server, &sent));
  group.spawn("second", send_large(&server, &second));
  // Read nothing until the deadline is well over: the time itself is tested.
  Event over{executor};
  Deadline pause{executor, [&over] { over.notify_all(); }};
  pause.expires_after(300ms);
  co_await over.wait();
  CO_ASSERT_TRUE(server.closed());
  const std::string bytes = co_await read_raw(&pair.client, 10 + 4 * 1024 * 1024);
  EXPECT_EQ(bytes.size(), 10U + 4 * 1024 * 1024) << "the message that was begun is whole";
  EXPECT_EQ(bytes.back(), 'x');
  EXPECT_EQ(co_await read_raw(&pair.client, 4), "\x88\x0A\x0F\xA8");
  EXPECT_EQ(co_await read_rest(&pair.client), "too slow");
  pair.client.close();
  co_await group.join();
  EXPECT_EQ(sent->error().code, Errc::timeout);
  EXPECT_EQ(second->error().code, Errc::timeout);
  EXPECT_EQ(end->code, Errc::timeout);
  EXPECT_EQ(server.closed()->code, 4008);
}

CO_TEST(WebSocket, DropsAPeerThatDoesNotReadAtAll) {
  StreamPair pair = connected(executor, 16 * 1024);
  WebSocket::Options options = impatient();
  options.close_timeout = 100ms;
  WebSocket server{std::move(pair.server), {}, options};
  TaskGroup group{executor};
  std::optional<Result<>> sent;
  std::optional<Error> end;
  group.spawn("read", read_to_end(&server, &end));
  group.spawn("send", send_large(&server, &sent));
  co_await group.join();
  EXPECT_EQ(sent->error().code, Errc::timeout);
  EXPECT_EQ(end->code, Errc::timeout);
  EXPECT_EQ(server.closed()->code, 4008);
}

CO_TEST(WebSocket, DropsAPeerThatDoesNotAnswerPings) {
  StreamPair pair = connected(executor);
  WebSocket::Options options;
  options.ping_interval = 50ms;
  WebSocket server{std::move(pair.server), {}, options};
  const auto end = co_await server.read();
  CO_ASSERT_TRUE(!end);
  EXPECT_EQ(end.error().code, Errc::timeout);
  EXPECT_EQ(server.closed()->code, 1006);
  const std::string pings = co_await read_rest(&pair.client);
  EXPECT_EQ(pings, std::string("\x89\0\x89\0", 4));
}

CO_TEST(WebSocket, KeepsAnIdlePeerThatAnswersPings) {
  StreamPair pair = connected(executor);
  WebSocket::Options options;
  options.ping_interval = 40ms;
  WebSocket server{std::move(pair.server), {}, options};
  TaskGroup group{executor};
  std::optional<Error> end;
  group.spawn("read", read_to_end(&server, &end));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(co_await read_raw(&pair.client, 2), std::string("\x89\0", 2));
    EXPECT_FALSE(end);
    co_await write_raw(&pair.client, readable_frame(0x8A, ""));
  }
  EXPECT_FALSE(end);
  server.abort();
  co_await group.join();
}

CO_TEST(WebSocket, GoesOnAfterAReadWasCancelled) {
  StreamPair pair = connected(executor);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  const std::string message = readable_frame(0x81, "split");
  for (std::size_t cut = 0; cut < message.size(); ++cut) {
    TaskGroup group{executor};
    std::optional<Error> end;
    co_await write_raw(&pair.client, message.substr(0, cut));
    group.spawn("read", read_to_end(&server, &end));
    group.cancel();
    co_await group.join();
    EXPECT_FALSE(end);
    co_await write_raw(&pair.client, message.substr(cut));
    const auto whole = co_await server.read();
    CO_ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->payload, "split");
  }
}

CO_TEST(WebSocket, SendsNothingOfAMessageThatWasCancelledInTheQueueAndAllOfOneThatHadBegun) {
  StreamPair pair = connected(executor, 16 * 1024);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  TaskGroup begun{executor}, queued{executor}, other{executor};
  std::optional<Result<>> first, second;
  begun.spawn("begun", send_large(&server, &first));
  queued.spawn("queued", send_large(&server, &second));
  other.spawn("other", [](WebSocket* socket) -> Task<> {
    const auto sent = co_await socket->send(MessageKind::text, "third");
    EXPECT_TRUE(sent);
  }(&server));
  queued.cancel();
  begun.cancel();
  co_await queued.join();
  EXPECT_FALSE(second) << "it ended by an exception";
  EXPECT_FALSE(begun.empty()) << "it finishes its message first";
  const std::string bytes = co_await read_raw(&pair.client, 10 + 4 * 1024 * 1024 + 7);
  EXPECT_EQ(bytes.substr(bytes.size() - 7), "\x81\x05third");
  co_await begun.join();
  co_await other.join();
}

CO_TEST(WebSocket, EndsEverythingOnAbort) {
  StreamPair pair = connected(executor, 16 * 1024);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  TaskGroup group{executor};
  std::optional<Result<>> first, second;
  std::optional<Error> end;
  group.spawn("first", send_large(&server, &first));
  group.spawn("second", send_large(&server, &second));
  group.spawn("read", read_to_end(&server, &end));
  group.spawn("close", server.close(1000, ""));
  server.abort();
  co_await group.join();
  EXPECT_FALSE(*first);
  EXPECT_FALSE(*second);
  EXPECT_EQ(end->code, Errc::cancelled);
}

CO_TEST(WebSocket, RefusesAPingThatIsTooLong) {
  StreamPair pair = connected(executor);
  WebSocket server{std::move(pair.server), {}, options_for(Side::server)};
  const auto long_one = co_await server.ping(std::string(126, 'x'));
  EXPECT_EQ(long_one.error().code, Errc::invalid_request);
  const auto short_one = co_await server.ping("hi");
  EXPECT_TRUE(short_one);
  EXPECT_EQ(co_await read_raw(&pair.client, 4), "\x89\x02hi");
}

}  // namespace
}  // namespace skiff::protocol
