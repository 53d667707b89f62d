#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "container/kube/transport.hpp"
#include "protocol/net/listener.hpp"
#include "tests/protocol/http/raw_client.hpp"

namespace skiff::test {

/// NOT a Kubernetes API server: it answers requests, in the order they come over whatever connection, with bytes that
/// the test wrote down. Only for what the real one can't be made to do on demand (queues that are full, watches that
/// are cut, states that have expired); everything else is tested against the real one (tests/kubernetes).
class CannedServer {
 public:
  struct Answer {
    std::string bytes;
    bool then_close = false;
  };

  CannedServer(Executor executor, std::deque<Answer> answers)
      : executor_{executor}, answers_{std::move(answers)}, tasks_{executor} {
    listener_ = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
    tasks_.spawn("accept", listener_->accept_all([this](UniqueFd socket, const protocol::Address& peer) {
      ++connections_;
      protocol::Stream stream{executor_, std::move(socket), peer.text()};
      tasks_.spawn("serve", serve(std::move(stream)));
    }));
  }

  [[nodiscard]] kube::Access access() const {
    return {.origin = "a test", .server = {.tls = false, .host = "127.0.0.1", .port = listener_->address().port()}};
  }
  /// Head and body of each request.
  [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] bool all_used() const { return answers_.empty(); }

  Task<> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  Task<> serve(protocol::Stream stream) {
    RawClient connection{std::move(stream)};
    for (;;) {
      std::string request = co_await connection.read_until("\r\n\r\n");
      if (!request.ends_with("\r\n\r\n")) co_return;
      if (const std::size_t at = request.find("Content-Length: "); at != std::string::npos) {
        const auto length = static_cast<std::size_t>(std::atoi(request.c_str() + at + 16));
        request += co_await connection.read_bytes(length);
      }
      requests_.push_back(std::move(request));
      if (answers_.empty()) {
        ADD_FAILURE() << "a request that the test does not expect: " << requests_.back();
        co_return;
      }
      const Answer answer = std::move(answers_.front());
      answers_.pop_front();
      co_await connection.send(answer.bytes);
      if (answer.then_close) co_return;
    }
  }

  Executor executor_;
  std::deque<Answer> answers_;
  std::vector<std::string> requests_;
  int connections_ = 0;
  TaskGroup tasks_;
  std::unique_ptr<protocol::Listener> listener_;
};

/// A whole answer.
inline std::string answer(std::string_view status, std::string_view body,
                          std::string_view headers = "Content-Type: application/json\r\n") {
  return "HTTP/1.1 " + std::string{status} + "\r\n" + std::string{headers} +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

/// A chunk of a stream.
inline std::string chunk(std::string_view text) {
  std::string size(16, '\0');
  size.resize(static_cast<std::size_t>(std::snprintf(size.data(), size.size(), "%zx", text.size())));
  return size + "\r\n" + std::string{text} + "\r\n";
}
inline constexpr std::string_view kStreamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Waits that end within a test.
inline kube::TransportOptions quick() {
  using namespace std::chrono_literals;
  return {.retry = {.first = 2ms, .most = 4ms, .all = 5'000ms, .attempts = 4}};
}

struct OpenTransport {
  OpenTransport(Executor executor, kube::Access access, kube::TransportOptions options = quick())
      : pool{std::make_shared<BlockingPool>("test", 1)},
        transport{kube::Transport::open(executor, pool, std::move(access), std::move(options)).value()} {}
  std::shared_ptr<BlockingPool> pool;
  std::unique_ptr<kube::Transport> transport;
};

}  // namespace skiff::test
