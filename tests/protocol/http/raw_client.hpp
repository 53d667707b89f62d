#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/server/server.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/stream.hpp"

/// A client that shows tests the bytes of HTTP, and a server on a free port.
namespace skiff::test {

struct RawResponse {
  unsigned status = 0;  ///< 0: the connection ended instead
  std::string head;     ///< includes the empty line
  std::string body;
  std::string trailers;
  bool cut = false;  ///< the connection ended within the body

  [[nodiscard]] bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class RawClient {
 public:
  explicit RawClient(protocol::Stream stream) : stream_{std::move(stream)} {}

  [[nodiscard]] protocol::Stream& stream() { return stream_; }

  Task<bool> send(std::string text) {
    const std::array<std::string_view, 1> parts{text};
    auto sent = co_await stream_.write(parts);
    co_return sent.has_value();
  }

  /// False when the connection has ended, or was reset.
  Task<bool> more() {
    std::array<char, 16 * 1024> bytes{};
    auto got = co_await stream_.read_some(bytes);
    if (!got || *got == 0) co_return false;
    received_.append(bytes.data(), *got);
    co_return true;
  }

  /// Reads until the connection ends.
  Task<std::string> read_all() {
    while (co_await more()) {
    }
    co_return std::exchange(received_, {});
  }

  /// Reads up to and including `mark`, or to the end.
  Task<std::string> read_until(std::string mark) {
    std::size_t found = 0;
    while ((found = received_.find(mark)) == std::string::npos) {
      if (!co_await more()) co_return std::exchange(received_, {});
    }
    co_return take(found + mark.size());
  }

  /// Reads `count` bytes, or fewer at the end.
  Task<std::string> read_bytes(std::size_t count) {
    while (received_.size() < count) {
      if (!co_await more()) break;
    }
    co_return take(std::min(count, received_.size()));
  }

  /// Reads one response, by its Content-Length, chunks, or the end of the connection.
  Task<RawResponse> response(bool to_head = false) {
    RawResponse response;
    response.head = co_await read_until("\r\n\r\n");
    if (!response.head.ends_with("\r\n\r\n")) co_return response;
    response.status = static_cast<unsigned>(std::atoi(response.head.c_str() + 9));
    if (to_head || response.status / 100 == 1 || response.status == 204 || response.status == 304) co_return response;
    if (const std::size_t at = response.head.find("Content-Length: "); at != std::string::npos) {
      const auto size = static_cast<std::size_t>(std::atoll(response.head.c_str() + at + 16));
      while (received_.size() < size) {
        if (!co_await more()) {
          response.cut = true;
          break;
        }
      }
      response.body = take(std::min(size, received_.size()));
    } else if (response.has("Transfer-Encoding: chunked")) {
      for (;;) {
        const std::string line = co_await read_until("\r\n");
        const std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
        response.cut = line.empty();
        if (size == 0) break;
        while (received_.size() < size + 2) {
          if (!co_await more()) {
            response.cut = true;
            co_return response;
          }
        }
        response.body += take(size);
        take(2);
      }
      while (!response.cut) {
        const std::string line = co_await read_until("\r\n");
        if (line == "\r\n" || line.empty()) break;
        response.trailers += line;
      }
    } else {
      response.body = co_await read_all();
    }
    co_return response;
  }

  /// True if the peer has ended the connection and sent nothing more.
  Task<bool> ended() {
    if (!received_.empty()) co_return false;
    const bool got_more = co_await more();
    co_return !got_more;
  }

 private:
  std::string take(std::size_t count) {
    std::string taken = received_.substr(0, count);
    received_.erase(0, count);
    return taken;
  }

  protocol::Stream stream_;
  std::string received_;
};

inline Task<RawClient> dial(Executor executor, protocol::Address address) {
  auto stream = co_await protocol::connect(std::move(address), std::chrono::seconds{5}, executor);
  if (!stream) throw std::runtime_error{stream.error().message};
  co_return RawClient{std::move(*stream)};
}

/// A server on 127.0.0.1. Stop it before it goes out of scope.
struct TestServer {
  TestServer(Executor executor, std::function<Task<>(protocol::HttpExchange&)> handler,
             protocol::ConnectionLimits limits = {}, std::shared_ptr<protocol::TlsContext> tls = nullptr)
      : server{executor, {.limits = limits, .name = "test", .handler = std::move(handler)}} {
    auto listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value());
    address = listener.value()->address();
    server.listen(std::move(*listener), std::move(tls));
  }

  Task<> stop() { return server.stop(); }

  protocol::HttpServer server;
  protocol::Address address;
};

/// A server with `handler`, as the fixture of a test.
template <auto handler>
struct Served : TestServer {
  explicit Served(Executor executor) : TestServer{std::move(executor), handler} {}
};

}  // namespace skiff::test
