#pragma once

#include <optional>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/egress/judge.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/stream.hpp"

/// What requests that the proxy parses have in common on their way to a server.
namespace skiff::container::egress {

/// Longest time without a byte of progress on either side.
inline constexpr std::chrono::milliseconds kNoProgress{60'000};
/// Longest time from the end of a request to its answer.
inline constexpr std::chrono::milliseconds kAnswer{300'000};

/// True for a request that asks to go on as a WebSocket.
[[nodiscard]] bool asks_for_websocket(const protocol::HttpRequest& request);

/// The fields for the server: without those of the client's connection, and without a word about the client. An upgrade
/// passes only if `with_websocket`, and to a WebSocket. The server may keep the connection.
[[nodiscard]] protocol::Headers fields_for_server(const protocol::HttpRequest& request, bool with_websocket = false);

/// Options for one request to this server, on a stream that is connected to it.
[[nodiscard]] protocol::HttpClientOptions server_options(const Target& target, protocol::Stream connected);

/// The refusal for an exchange that failed before its answer; nullopt: the client has gone.
[[nodiscard]] std::optional<Refusal> refusal_of(const Error& error);

}  // namespace skiff::container::egress
