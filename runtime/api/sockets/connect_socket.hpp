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

/// A WebSocket that carries any number of commands, each on the channel that the client chose. Runs until the
/// connection ends; commands go on unless they were started with on_disconnect: kill.
[[nodiscard]] Task<> serve_connect(protocol::Upgraded connection, Agent* agent, SocketForm form, Caller caller);

/// How every WebSocket of the agent behaves; what it holds is `of`'s client's.
[[nodiscard]] protocol::WebSocket::Options socket_options(const Agent& agent, const protocol::Upgraded& of);
/// Closes it with 4401 when the token's time is over; without an `end` that is never.
[[nodiscard]] Task<> close_at_expiry(protocol::WebSocket* socket, Executor executor, std::optional<WallTime> end);
/// How the connection ends for an error that a message met; nothing: it goes on, and the error is told.
[[nodiscard]] std::optional<std::uint16_t> close_code_for(const Error& error);
/// The answer to a `ping` message.
[[nodiscard]] std::string pong(std::string_view data, std::optional<std::uint32_t> channel);

}  // namespace skiff::runtime::api
