#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/task_group.hpp"
#include "protocol/http/client.hpp"
#include "protocol/net/listener.hpp"
#include "runtime/egress/helper.hpp"

namespace skiff::test {

/// An egress proxy with the rules of a test, and the helper that leads to it. A tunnel repeats what it is told up to an
/// exclamation mark, behind its target.
struct EgressStandIn {
  explicit EgressStandIn(Executor on)
      : executor{on},
        listener{protocol::Listener::open(on, protocol::Address::parse("127.0.0.1:0").value()).value()},
        helper{on, listener->address(), {.stall = std::chrono::seconds{20}, .silent = std::chrono::seconds{20}}},
        tasks{on} {
    helper.use_token("token");
    tasks.spawn("proxy", accept(this));
  }
  Task<> stop() {
    co_await helper.stop();
    listener->close();
    co_await tasks.join();
  }

  static Task<> accept(EgressStandIn* self) {
    const std::shared_ptr<protocol::Listener> listener = self->listener;
    co_await listener->accept_all([self](UniqueFd socket, const protocol::Address&) {
      self->tasks.spawn("connection", serve(self, {self->executor, std::move(socket), "helper"}));
    });
  }
  static Task<bool> say(protocol::Stream* stream, std::string_view text) {
    const std::array<std::string_view, 1> parts{text};
    co_return (co_await stream->write(parts)).has_value();
  }
  static Task<std::string> read_to(protocol::Stream* stream, std::string_view end) {
    std::string all;
    std::array<char, 1000> block{};
    while (!all.ends_with(end)) {
      const auto got = co_await stream->read_some(block);
      if (!got || *got == 0) break;
      all.append(block.data(), *got);
    }
    co_return all;
  }
  static Task<> serve(EgressStandIn* self, protocol::Stream stream) {
    const std::string head = co_await read_to(&stream, "\r\n\r\n");
    const std::size_t begin = head.find("\r\n") + 2;  // behind the token
    const std::string line = head.substr(begin, head.find("\r\n", begin) - begin);
    self->heard.push_back(line);
    const auto found = self->answers.find(line);
    const bool is_tunnel = found == self->answers.end() && line.starts_with("CONNECT ");
    if (found != self->answers.end()) {
      (void)co_await say(&stream, found->second);
    } else if (!is_tunnel) {
      (void)co_await say(&stream, kNotAllowed);
    }
    if (!is_tunnel || !co_await say(&stream, "HTTP/1.1 200 Connection established\r\n\r\n")) co_return;
    const std::string target = line.substr(8, line.rfind(' ') - 8);
    const std::string told = co_await read_to(&stream, "!");
    (void)co_await say(&stream, target + " " + told);
  }

  /// Names the ports of a host.
  void allow(const std::string& host, const std::string& ports) {
    const std::string body = "{\"ports\":[" + ports + "]}";
    answers["GET /.well-known/skiff-egress/ports?host=" + host + " HTTP/1.1"] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  static constexpr std::string_view kNotAllowed =
      "HTTP/1.1 403 Forbidden\r\nX-Skiff-Egress: not_allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  Executor executor;
  std::shared_ptr<protocol::Listener> listener;
  runtime::egress::Helper helper;
  TaskGroup tasks;
  std::map<std::string, std::string> answers;  ///< by the first line of a request
  std::vector<std::string> heard;              ///< the first lines
};

}  // namespace skiff::test
