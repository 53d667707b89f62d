#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/beside.hpp"
#include "container/kube/auth/access.hpp"
#include "protocol/websocket/handshake.hpp"
#include "protocol/websocket/socket.hpp"
#include "tests/protocol/http/raw_client.hpp"

namespace skiff::test {

/// NOT a kubelet: it answers a port-forward as one does through the API server (v4.channel.k8s.io, measured), with a
/// connection to that port of this machine, and a log with two lines. A real one needs a container runtime.
class CannedNode {
 public:
  explicit CannedNode(Executor executor, std::shared_ptr<protocol::TlsContext> tls = nullptr)
      : executor_{executor},
        server_{executor, [this](protocol::HttpExchange& exchange) { return answer(exchange); }, {}, std::move(tls)} {}

  [[nodiscard]] std::uint16_t port() const { return server_.address.port(); }

  [[nodiscard]] kube::Access access() const {
    return {.origin = "a test", .server = {.tls = false, .host = "127.0.0.1", .port = server_.address.port()}};
  }
  [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
  Task<> stop() { return server_.server.stop(); }

 private:
  Task<> answer(protocol::HttpExchange& exchange) {
    const protocol::HttpRequest& request = exchange.request();
    targets_.push_back(request.target_text);
    if (request.target.path.starts_with("/containerLogs/")) {
      auto sent = co_await exchange.start({.headers = {{"Content-Type", "text/plain"}}});
      if (sent) sent = co_await exchange.write("one\n");
      if (sent) sent = co_await exchange.write("two\n");
      if (sent) sent = co_await exchange.finish();
      EXPECT_TRUE(sent.has_value());
      co_return;
    }
    const auto lookup = [&](std::string_view name) { return std::string{request.headers.get(name)}; };
    auto accepted = protocol::accept_websocket(request.method, lookup);
    // The API server asks its nodes for a `port`.
    auto port = request.target.parameter("ports");
    if (!port) port = request.target.parameter("port");
    if (!accepted || !port) {
      auto sent = co_await exchange.respond(
          {.status = 400, .headers = {{"Content-Type", "text/plain"}}, .body = "query parameter \"port\" is required"});
      EXPECT_TRUE(sent.has_value());
      co_return;
    }
    EXPECT_EQ(lookup("sec-websocket-protocol"), "v4.channel.k8s.io");
    protocol::Headers headers{{"Upgrade", "websocket"},
                              {"Connection", "Upgrade"},
                              {"Sec-WebSocket-Accept", *accepted},
                              {"Sec-WebSocket-Protocol", "v4.channel.k8s.io"}};
    const auto number = static_cast<std::uint16_t>(std::stoi(std::string{*port}));
    auto sent = co_await exchange.upgrade(std::move(headers), [this, number](protocol::Upgraded connection) {
      return forward(std::move(connection), number);
    });
    EXPECT_TRUE(sent.has_value());
  }

  Task<> forward(protocol::Upgraded connection, std::uint16_t port) {
    protocol::WebSocket socket{std::move(connection.stream), std::move(connection.buffered), {}};
    for (char channel = 0; channel < 2; ++channel) {
      std::string begin{channel, static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
      co_await send(&socket, std::move(begin));
    }
    auto pod = co_await protocol::connect(protocol::Address::ip("127.0.0.1", port).value(), std::chrono::seconds{5},
                                          executor_);
    if (pod) {
      auto up = pump_up(&socket, &*pod);
      auto down = pump_down(&socket, &*pod);
      co_await run_beside(std::move(up), std::move(down));
    } else {
      co_await send(&socket, "\x01" + pod.error().message);
    }
    co_await socket.close(1000, "");
  }

  static Task<> send(protocol::WebSocket* socket, std::string payload) {
    auto sent = co_await socket->send(protocol::WebSocket::Kind::binary, std::move(payload));
    static_cast<void>(sent);  // the other side may be gone
  }

  static Task<> pump_up(protocol::WebSocket* socket, protocol::Stream* pod) {
    for (;;) {
      auto message = co_await socket->read();
      if (!message) break;
      EXPECT_EQ(message->payload.front(), '\0') << "nothing goes up on the channel of errors";
      const std::array<std::string_view, 1> parts{std::string_view{message->payload}.substr(1)};
      auto written = co_await pod->write(parts);
      if (!written) break;
    }
    pod->close();
  }

  static Task<> pump_down(protocol::WebSocket* socket, protocol::Stream* pod) {
    std::vector<char> piece(32 * 1024);
    for (;;) {
      auto got = co_await pod->read_some(piece);
      if (!got || *got == 0) co_return;
      std::string message(1, '\0');
      message.append(piece.data(), *got);
      co_await send(socket, std::move(message));
    }
  }

  Executor executor_;
  std::vector<std::string> targets_;
  TestServer server_;
};

}  // namespace skiff::test
