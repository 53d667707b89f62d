#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/sockets/channel.hpp"

namespace skiff::runtime::api {

/// Serves a WebSocket with any number of commands, each on a channel that the client chose. Runs until the connection
/// ends. Commands then continue unless they were started with on_disconnect: kill.
[[nodiscard]] Task<> serve_connect(protocol::Upgraded connection, Agent* agent, SocketForm form, Caller caller);

/// The options for every WebSocket of the agent. Its memory counts for the client of the connection `of`.
[[nodiscard]] protocol::WebSocket::Options socket_options(const Agent& agent, const protocol::Upgraded& of);
/// Closes the socket with 4401 at `end`, when the token expires; without `end` it returns at once.
[[nodiscard]] Task<> close_at_expiry(protocol::WebSocket* socket, Executor executor, std::optional<WallTime> end);
/// The close code for an error in a message; empty if the connection continues and the error is sent as an event.
[[nodiscard]] std::optional<std::uint16_t> close_code_for(const Error& error);
/// The answer to a `ping` message.
[[nodiscard]] std::string pong(std::string_view data, std::optional<std::uint32_t> channel);

}  // namespace skiff::runtime::api
