#include "container/agent/stream/port_connections.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/finally.hpp"
#include "base/unique_fd.hpp"
#include "container/agent/client.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::container {
namespace {

using protocol::Stream;
using protocol::WebSocket;

constexpr std::string_view kPortProtocol = "skiff.v1.tcp";
constexpr std::size_t kPortPiece = std::size_t{64} << 10U;

/// The agent ends connections that stand still for too long; this side does not cut slow readers.
WebSocket::Options port_socket() {
  return {.side = protocol::Side::client,
          .max_message_bytes = kPortPiece,
          .write_deadline = std::chrono::hours{24},
          .reads_pieces = true,
          .may_be_silent = true};
}

/// Passes bytes from the local end to the server, then the local end's end of file, and then waits until the local end
/// is closed.
Task<> send_to_port(WebSocket* socket, Stream* local) {
  bool goes_on = true;
  while (goes_on) {
    if (auto ready = co_await local->readable(); !ready) break;
    const auto block = std::make_unique_for_overwrite<char[]>(kPortPiece);
    const auto got = local->try_read({block.get(), kPortPiece});
    if (!got) continue;
    if (!*got) break;
    Result<> sent;
    if (**got == 0) {
      sent = co_await socket->send(WebSocket::Kind::text, std::string{});
      goes_on = false;
    } else {
      const std::array<std::string_view, 1> parts{std::string_view{block.get(), **got}};
      sent = co_await socket->send(WebSocket::Kind::binary, parts);
    }
    if (!sent) co_return;
  }
  if (!goes_on) {
    if (auto gone = co_await local->broken(); !gone) co_return;
  }
  socket->abort();
}

/// Passes bytes from the server to the local end until the WebSocket ends.
Task<> take_from_port(WebSocket* socket, Stream* local) {
  for (;;) {
    auto message = co_await socket->read();
    if (!message) co_return;
    if (message->kind == WebSocket::Kind::text) {
      local->shutdown_write();
      continue;
    }
    const std::array<std::string_view, 1> parts{message->payload};
    if (auto written = co_await local->write(parts); !written) co_return;
  }
}

Task<> carry_port(std::unique_ptr<WebSocket> socket, Stream local) {
  auto both = [&](this auto) -> Task<> {
    co_await run_beside(send_to_port(socket.get(), &local), take_from_port(socket.get(), &local));
  };
  co_await finally(std::move(both), [&](this auto) -> Task<> {
    // Bytes that the local end has not read yet stay readable there.
    local.close();
    socket->abort();
    co_return;
  });
}

}  // namespace

Task<Result<Stream>> PortConnections::connect(Endpoint endpoint, std::uint16_t port) {
  const std::string path = "/v1/ports/" + std::to_string(port) + ":tcp";
  std::unique_ptr<WebSocket> socket;
  {
    AgentClient agent{executor_, std::move(endpoint)};
    auto opened = co_await agent.open_socket(path, std::string{kPortProtocol}, port_socket());
    if (!opened && opened.error().code == Errc::not_found) {
      co_return fail(Errc::not_supported,
                     "the agent of this sandbox is older than this skiff and forwards only HTTP to its ports: create "
                     "the sandbox again with a newer skiffd");
    }
    if (!opened) co_return std::unexpected{std::move(opened.error())};
    socket = std::move(*opened);
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    co_return std::unexpected{system_error(errno, "create a socket pair")};
  }
  Stream ours{executor_, UniqueFd{ends[0]}, path};
  Stream theirs{executor_, UniqueFd{ends[1]}, path};
  open_.spawn("port", carry_port(std::move(socket), std::move(ours)));
  co_return theirs;
}

Task<> PortConnections::close() {
  return end_tasks(&open_);
}

}  // namespace skiff::container
