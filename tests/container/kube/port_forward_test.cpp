#include "container/kube/port_forward.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include <gtest/gtest.h>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/websocket/handshake.hpp"
#include "protocol/websocket/socket.hpp"
#include "tests/container/kube/canned_node.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using test::CannedNode;
using test::OpenTransport;
using test::RawClient;
using test::Served;

/// The pod's server: answers with the body that came.
Task<> echo(protocol::HttpExchange& exchange) {
  auto body = co_await exchange.read_body(16 * 1024 * 1024);
  protocol::HttpResponse response;
  if (body) response.body = std::move(*body);
  auto sent = co_await exchange.respond(std::move(response));
  static_cast<void>(sent);
}

struct Forwarding {
  Forwarding(Executor executor, std::uint16_t port)
      : node{executor}, open{executor, node.access()}, forward{executor, open.transport.get(), "n", "p", port} {}
  Task<> stop() {
    co_await forward.stop();
    co_await node.stop();
  }
  CannedNode node;
  OpenTransport open;
  PortForward forward;
};

CO_TEST(PortForward, CarriesHttpBothWaysOverOneConnection, Served<echo>& pod) {
  Forwarding forwarding{executor, pod.address.port()};
  {
    protocol::HttpClient client{executor, {.host = "agent", .port = 1, .dial = forwarding.forward.dialer()}};
    std::string body;
    while (body.size() < 3'000'000) body += std::to_string(body.size());
    for (const std::string& sent : {std::string{"small"}, body, std::string{"again"}}) {
      protocol::HttpClient::Request request{.method = "POST", .target = "/", .headers = {}, .body = sent};
      auto reply = co_await client.request(std::move(request));
      CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
      EXPECT_TRUE(reply->body == sent);
    }
  }
  EXPECT_EQ(forwarding.node.targets(), (std::vector<std::string>{"/api/v1/namespaces/n/pods/p/portforward?ports=" +
                                                                 std::to_string(pod.address.port())}));
  EXPECT_EQ(pod.server.connections(), 1u);
  co_await forwarding.stop();
}

CO_TEST(PortForward, GivesUpInTheTimeOfItsCaller) {
  // Connections are taken, and nothing is said on them.
  auto listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
  const OpenTransport open{
      executor,
      {.origin = "a test", .server = {.tls = false, .host = "127.0.0.1", .port = listener->address().port()}}};
  PortForward forward{executor, open.transport.get(), "n", "p", 7070};
  auto stream = co_await forward.dialer()(std::chrono::milliseconds{20});
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().code, Errc::timeout);
  EXPECT_EQ(stream.error().message, "forward to pod n/p, port 7070: the API server does not answer in time");
  co_await forward.stop();
}

Task<> read_to_end(UniqueFd socket, Executor executor, std::string* text, Event* ended) {
  RawClient connection{protocol::Stream{executor, std::move(socket), "forwarded"}};
  *text = co_await connection.read_all();
  ended->notify_all();
}

CO_TEST(PortForward, EndsOnThePodsSideWhenOurEndIsClosed) {
  std::string text;
  Event ended{executor};
  TaskGroup pod{executor};
  auto listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
  pod.spawn("accept", listener->accept_all([&](UniqueFd socket, const protocol::Address&) {
    pod.spawn("read", read_to_end(std::move(socket), executor, &text, &ended));
  }));
  Forwarding forwarding{executor, listener->address().port()};
  {
    auto stream = co_await forwarding.forward.open();
    CO_ASSERT_TRUE(stream.has_value()) << stream.error().error.message;
    EXPECT_EQ(forwarding.forward.connections(), 1u);
    const std::array<std::string_view, 1> parts{"hello"};
    auto sent = co_await stream->write(parts);
    EXPECT_TRUE(sent.has_value());
  }
  while (text.empty()) co_await ended.wait();
  EXPECT_EQ(text, "hello");
  EXPECT_EQ(forwarding.forward.connections(), 0u);
  co_await forwarding.stop();
  pod.cancel();
  co_await pod.join();
}

/// A pod's WebSocket: sends every message back.
Task<> echo_messages(protocol::Upgraded connection) {
  protocol::WebSocket socket{std::move(connection.stream), std::move(connection.buffered), {}};
  for (;;) {
    auto message = co_await socket.read();
    if (!message) co_return;
    auto sent = co_await socket.send(message->kind, std::move(message->payload));
    if (!sent) co_return;
  }
}

Task<> upgrade_to_echo(protocol::HttpExchange& exchange) {
  const protocol::HttpRequest& request = exchange.request();
  const auto lookup = [&](std::string_view name) { return std::string{request.headers.get(name)}; };
  auto accepted = protocol::accept_websocket(request.method, lookup);
  CO_ASSERT_TRUE(accepted.has_value());
  protocol::Headers headers{{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", *accepted}};
  auto sent = co_await exchange.upgrade(std::move(headers), echo_messages);
  EXPECT_TRUE(sent.has_value());
}

CO_TEST(PortForward, CarriesAWebSocket, Served<upgrade_to_echo>& pod) {
  Forwarding forwarding{executor, pod.address.port()};
  {
    protocol::HttpClient client{executor, {.host = "agent", .port = 1, .dial = forwarding.forward.dialer()}};
    const protocol::ClientHandshake handshake;
    protocol::HttpClient::Request request;
    for (const auto& [name, value] : handshake.headers()) request.headers.add(name, value);
    auto head = co_await client.open(std::move(request));
    CO_ASSERT_TRUE(head.has_value()) << head.error().message;
    const auto lookup = [&](std::string_view name) { return std::string{head->headers.get(name)}; };
    CO_ASSERT_TRUE(handshake.check(head->status, lookup).has_value());
    protocol::Upgraded upgraded = client.take_upgraded();
    protocol::WebSocket socket{
        std::move(upgraded.stream), std::move(upgraded.buffered), {.side = protocol::Side::client}};
    for (const std::size_t size : {std::size_t{1}, std::size_t{200'000}}) {
      auto sent = co_await socket.send(protocol::WebSocket::Kind::text, std::string(size, 'x'));
      CO_ASSERT_TRUE(sent.has_value());
      auto message = co_await socket.read();
      CO_ASSERT_TRUE(message.has_value()) << message.error().message;
      EXPECT_EQ(message->payload.size(), size);
    }
  }
  co_await forwarding.stop();
}

CO_TEST(PortForward, HandsOverEverythingBeforeTheEnd, Served<echo>& pod) {
  Forwarding forwarding{executor, pod.address.port()};
  auto stream = co_await forwarding.forward.open();
  CO_ASSERT_TRUE(stream.has_value());
  RawClient client{std::move(*stream)};
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" +
                                   std::string(100'000, 'x')));
  // Ending our direction only is not passed on: the answer still comes.
  client.stream().shutdown_write();
  const std::string answer = co_await client.read_all();
  EXPECT_TRUE(answer.ends_with(std::string(100'000, 'x')));
  co_await forwarding.stop();
}

CO_TEST(PortForward, SaysWhyThePortCanNotBeReached) {
  // Taken, so that nobody else listens there, and not listened on.
  const UniqueFd taken{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {::htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CO_ASSERT_TRUE(::bind(taken.get(), generic, size) == 0 && ::getsockname(taken.get(), generic, &size) == 0);
  Forwarding forwarding{executor, ::ntohs(address.sin_port)};
  auto stream = co_await forwarding.forward.open();
  CO_ASSERT_TRUE(stream.has_value());
  RawClient client{std::move(*stream)};
  EXPECT_EQ(co_await client.read_all(), "");
  EXPECT_NE(forwarding.forward.trouble().find("refused"), std::string::npos) << forwarding.forward.trouble();
  co_await forwarding.stop();
}

CO_TEST(PortForward, TellsWhatTheApiServerRefuses) {
  test::CannedServer server{
      executor,
      {{test::answer("403 Forbidden", R"({"kind":"Status","reason":"Forbidden","message":"pods \"p\" is forbidden"})")},
       {test::answer("400 Bad Request", "not scheduled", "Content-Type: text/plain\r\n")}}};
  const OpenTransport open{executor, server.access()};
  PortForward forward{executor, open.transport.get(), "n", "p", 80};
  auto stream = co_await forward.open();
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_TRUE(stream.error().forbidden());
  EXPECT_EQ(stream.error().error.message, "forward to pod n/p, port 80: pods \"p\" is forbidden (Forbidden, 403)");
  protocol::Dialer dial = forward.dialer();
  auto dialled = co_await dial(std::chrono::seconds{1});
  CO_ASSERT_TRUE(!dialled.has_value());
  EXPECT_EQ(dialled.error().message, "forward to pod n/p, port 80: not scheduled (400)");
  co_await server.stop();
}

CO_TEST(PortForward, StopsWhatIsOpen, Served<echo>& pod) {
  Forwarding forwarding{executor, pod.address.port()};
  auto stream = co_await forwarding.forward.open();
  CO_ASSERT_TRUE(stream.has_value());
  co_await forwarding.forward.stop();
  EXPECT_EQ(forwarding.forward.connections(), 0u);
  RawClient client{std::move(*stream)};
  EXPECT_EQ(co_await client.read_all(), "");
  co_await forwarding.stop();
}

}  // namespace
}  // namespace skiff::kube
