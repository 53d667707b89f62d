#include "runtime/api/ports/port_socket.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/expiry.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/ports/local_server.hpp"
#include "runtime/api/ports/port_routes.hpp"
#include "runtime/api/sockets/connect_socket.hpp"
#include "runtime/api/sockets/socket_routes.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::Stream;
using protocol::WebSocket;
using std::chrono::milliseconds;

constexpr std::size_t kPortBlock = std::size_t{64} << 10U;
/// Bytes moved without a wait before other work gets the reactor.
constexpr std::size_t kPortTurn = std::size_t{1} << 20U;
/// Time for the client to get the close frame, and for the server to read the last bytes of a client that has
/// disconnected.
constexpr milliseconds kFarewell{5'000};

/// A client may read as slowly as it likes; one that reads nothing is disconnected after `--port-timeout`.
WebSocket::Options port_socket_options(const Agent& agent, const protocol::Upgraded& of) {
  WebSocket::Options options = socket_options(agent, of);
  options.write_deadline = agent.settings.port_timeout;
  options.reads_pieces = true;
  options.may_be_silent = true;
  return options;
}

/// A connection to a server and its WebSocket.
struct PortConnection {
  PortConnection(protocol::Upgraded client, Agent& agent_in, Stream server_in, bool tells_ends_in)
      : agent{agent_in},
        socket{std::move(client.stream), std::move(client.buffered), port_socket_options(agent_in, client)},
        server{std::move(server_in)},
        tells_ends{tells_ends_in},
        changed{agent_in.executor},
        silence{agent_in.executor, [this] { end(kClosedTooSlow, "one side has ended, and the other is silent"); }} {}

  /// Requests the end; the first reason counts.
  void end(std::uint16_t with, std::string_view because) {
    if (code) return;
    code = with;
    why = because;
    changed.notify_all();
  }
  /// Notes traffic: once one side has ended, it restarts the limit on silence.
  void moved() {
    if (client_ended || server_ended) silence.expires_after(agent.settings.port_timeout);
  }
  void look_for_the_end() {
    moved();
    if (!server_ended) return;
    if (client_ended) {
      end(protocol::close_code::kNormal, {});
    } else if (server_broke) {
      end(protocol::close_code::kInternal, "the server's connection broke");
    }
  }
  [[nodiscard]] bool client_left_in_good_order() const {
    const auto& closed = socket.closed();
    return closed && closed->by_peer && closed->code != protocol::close_code::kAbnormal;
  }

  Agent& agent;
  WebSocket socket;
  Stream server;
  const bool tells_ends;  ///< an empty text message ends a direction
  bool client_ended = false;
  bool server_ended = false;
  bool server_broke = false;  ///< the server's connection failed
  std::optional<std::uint16_t> code;
  std::string_view why;
  Event changed;
  Deadline silence;
};

/// Handles a text message of the client: it ends the client's direction or is an error.
void take_port_text(PortConnection* at, std::string_view text) {
  if (!at->tells_ends || !text.empty()) {
    at->end(protocol::close_code::kUnsupported, at->tells_ends ? "a text message must be empty: it ends the direction"
                                                               : "the bytes of a connection are binary messages");
  } else if (!std::exchange(at->client_ended, true)) {
    at->server.shutdown_write();
    at->look_for_the_end();
  }
}

Task<> carry_to_server(PortConnection* at) {
  for (;;) {
    auto message = co_await at->socket.read();
    if (!message) co_return;
    if (at->code) continue;  // the connection is being closed
    if (message->kind == WebSocket::Kind::text) {
      take_port_text(at, message->payload);
      continue;
    }
    if (at->client_ended) {
      at->end(protocol::close_code::kProtocolError, "bytes after the end of their direction");
      continue;
    }
    at->moved();
    if (at->server_broke) continue;
    const std::array<std::string_view, 1> parts{message->payload};
    const auto written = co_await at->server.write(parts, at->agent.settings.port_timeout);
    if (written) continue;
    if (written.error().code == Errc::timeout) {
      at->end(kClosedTooSlow, "the server takes nothing");
    } else {
      // The server's last bytes are still to be read.
      at->server_broke = true;
      at->look_for_the_end();
    }
  }
}

/// Sends all bytes that have come from the server; false if no more will come.
Task<bool> carry_block(PortConnection* at, std::span<char> block) {
  std::size_t at_once = 0;
  while (const auto got = at->server.try_read(block)) {
    if (!*got || **got == 0) {
      at->server_broke = at->server_broke || !*got;
      at->server_ended = true;
      co_return false;
    }
    at->moved();
    const std::array<std::string_view, 1> parts{std::string_view{block.data(), **got}};
    if (auto sent = co_await at->socket.send(WebSocket::Kind::binary, parts); !sent) co_return false;
    if ((at_once += **got) < kPortTurn) continue;
    co_await boost::asio::post(at->agent.executor, use_task);
    at_once = 0;
  }
  co_return true;
}

Task<> carry_to_client(PortConnection* at) {
  for (bool goes_on = true; goes_on;) {
    if (auto ready = co_await at->server.readable(); !ready) {
      at->server_broke = at->server_ended = true;
      break;
    }
    // Allocate the block only while there are bytes, not for a silent connection.
    const auto block = std::make_unique_for_overwrite<char[]>(kPortBlock);
    goes_on = co_await carry_block(at, {block.get(), kPortBlock});
  }
  if (!at->server_ended) co_return;
  if (!at->server_broke && at->tells_ends) {
    if (auto told = co_await at->socket.send(WebSocket::Kind::text, std::string{}); !told) co_return;
  } else if (!at->server_broke) {
    at->end(protocol::close_code::kNormal, {});
  }
  at->look_for_the_end();
}

Task<> say_goodbye(PortConnection* at) {
  while (!at->code) co_await at->changed.wait();
  at->server.close();
  Deadline limit{at->agent.executor, [at] { at->socket.abort(); }};
  limit.expires_after(kFarewell);
  co_await at->socket.close(*at->code, std::string{at->why});
}

Task<> end_at_drain(PortConnection* at) {
  co_await at->agent.shutdown.drain_begun();
  at->end(protocol::close_code::kGoingAway, "the agent is stopping");
}

/// Reads until the server closes: closing with unread bytes would reset the connection, and lose the client's last
/// bytes.
Task<> let_go(Stream* server) {
  server->shutdown_write();
  const auto block = std::make_unique_for_overwrite<char[]>(kPortBlock);
  const SteadyTime until = std::chrono::steady_clock::now() + kFarewell;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= milliseconds{0}) co_return;
    if (const auto got = server->try_read({block.get(), kPortBlock})) {
      if (!*got || **got == 0) co_return;
      co_await boost::asio::post(server->executor(), use_task);
    } else if (auto ready = co_await server->readable(left); !ready) {
      co_return;
    }
  }
}

Task<> serve_port(protocol::Upgraded client, Agent* agent, std::optional<WallTime> ends, Stream server,
                  bool tells_ends) {
  const OpenSocket open{agent->connections, agent->activity};
  client.stream.probe_peer(std::chrono::ceil<std::chrono::seconds>(agent->settings.keepalive));
  PortConnection at{std::move(client), *agent, std::move(server), tells_ends};
  const Expiry expiry{agent->executor, ends, [&at] { at.end(kClosedExpired, kExpired); }};
  TaskGroup group{agent->executor};
  auto serve = [&](this auto) -> Task<> {
    group.spawn("goodbye", say_goodbye(&at));
    group.spawn("drain", end_at_drain(&at));
    group.spawn("to the client", carry_to_client(&at));
    co_await carry_to_server(&at);
    co_await end_tasks(&group);
    if (at.client_left_in_good_order() && !at.server_broke && at.server.is_open()) co_await let_go(&at.server);
  };
  co_await finally(std::move(serve), [&] {
    at.socket.abort();
    at.server.close();
    return end_tasks(&group);
  });
}

}  // namespace

Task<Result<>> open_port(Call& call) {
  SKIFF_CO_TRY(const auto port, parse_port(call.params.at(0)));
  SKIFF_CO_TRY_VOID(check_port(call, port));
  SKIFF_CO_TRY(auto handshake, shake_hands(call, {kTcpProtocol}));
  const milliseconds limit = std::min<milliseconds>(kPortConnectTime, call.agent.settings.port_timeout);
  SKIFF_CO_TRY(auto server, co_await connect_to_port(port, limit, call.agent.executor));
  co_return co_await call.http.upgrade(
      std::move(handshake.headers),
      [agent = &call.agent, ends = call.identity.expires, tells_ends = handshake.subprotocol == kTcpProtocol,
       server = std::move(server)](protocol::Upgraded client) mutable {
        return serve_port(std::move(client), agent, ends, std::move(server), tells_ends);
      });
}

}  // namespace skiff::runtime::api
