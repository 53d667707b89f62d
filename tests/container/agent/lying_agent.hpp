#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "container/agent/endpoint.hpp"
#include "protocol/websocket/handshake.hpp"
#include "protocol/websocket/socket.hpp"
#include "tests/protocol/http/raw_client.hpp"

namespace skiff::container::fakes {

/// The endpoint of a server on this machine.
inline Endpoint endpoint_at(Executor executor, protocol::Address address) {
  Endpoint endpoint{.url = "http://agent", .token = [] { return "token"; }};
  endpoint.client.host = "agent";
  endpoint.client.dial = [executor, address](auto limit) { return protocol::connect(address, limit, executor); };
  return endpoint;
}

/// NOT an agent: it says what the test tells it to, true or not. Stop it at the end of the test.
class LyingAgent {
 public:
  /// One connection to /v1/connect: what it says once it was asked for something, and whether it then stays silent
  /// instead of closing in good order.
  struct Visit {
    std::vector<std::string> messages = {};  ///< text where one begins with a brace or bracket, else binary
    bool stays = false;
    bool repeats = false;  ///< all of it, again and again
  };

  explicit LyingAgent(Executor executor)
      : executor_{executor}, server_{executor, [this](protocol::HttpExchange& exchange) { return answer(exchange); }} {}

  [[nodiscard]] Endpoint endpoint() const { return endpoint_at(executor_, server_.address); }
  Task<> stop() { return server_.server.stop(); }

  /// One after the other; the last one for all that follow.
  std::deque<Visit> visits = {};
  /// Everything but /v1/connect.
  std::function<protocol::HttpResponse(const protocol::HttpRequest& request)> rest = {};
  /// The first message of the client on each connection.
  std::vector<nlohmann::json> asked = {};
  /// How many there were when it was asked, that one included.
  std::vector<int> open = {};

 private:
  Task<> answer(protocol::HttpExchange& exchange) {
    const protocol::HttpRequest& request = exchange.request();
    const auto lookup = [&](std::string_view name) { return std::string{request.headers.get(name)}; };
    auto accepted = protocol::accept_websocket(request.method, lookup);
    Result<> sent;
    if (request.target.path == "/v1/connect" && accepted && !visits.empty()) {
      protocol::Headers headers{{"Upgrade", "websocket"},
                                {"Connection", "Upgrade"},
                                {"Sec-WebSocket-Accept", *accepted},
                                {"Sec-WebSocket-Protocol", "skiff.v1.binary"}};
      const Visit visit = visits.front();
      if (visits.size() > 1) visits.pop_front();
      sent = co_await exchange.upgrade(std::move(headers), [this, visit](protocol::Upgraded connection) {
        return receive(std::move(connection), visit);
      });
    } else {
      sent = co_await exchange.respond(rest ? rest(request) : protocol::HttpResponse{.status = 404});
    }
    EXPECT_TRUE(sent.has_value());
  }

  Task<> receive(protocol::Upgraded connection, Visit visit) {
    protocol::WebSocket socket{std::move(connection.stream), std::move(connection.buffered), {}};
    auto question = co_await socket.read();
    if (!question) co_return;
    asked.push_back(nlohmann::json::parse(question->payload));
    open.push_back(++now_open_);
    do {
      for (const std::string& message : visit.messages) {
        const bool is_text = message.starts_with('{') || message.starts_with('[');
        std::string copy = message;
        auto sent = co_await socket.send(is_text ? protocol::WebSocket::Kind::text : protocol::WebSocket::Kind::binary,
                                         std::move(copy));
        if (!sent) co_return;
      }
      // A send waits for nothing as long as the kernel takes its bytes, which are many megabytes: nobody else would
      // run.
      co_await boost::asio::post(executor_, use_task);
    } while (visit.repeats);
    while (visit.stays && co_await socket.read()) continue;
    --now_open_;
    co_await socket.close(1000, "");
  }

  Executor executor_;
  skiff::test::TestServer server_;
  int now_open_ = 0;
};

/// A frame of skiff.v1.binary: output from `offset` on.
inline std::string output_frame(std::uint64_t offset, std::string_view bytes, char stream = 1) {
  std::string frame{'\1', '\1', stream, '\0', '\0', '\0', '\0', '\1'};
  for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(offset >> static_cast<unsigned>(shift));
  frame.append(8, '\0');
  frame += bytes;
  return frame;
}

}  // namespace skiff::container::fakes
