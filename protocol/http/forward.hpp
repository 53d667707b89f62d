#pragma once

#include <string>
#include <string_view>

#include "protocol/http/message.hpp"

/// The changes of an intermediary to the heads that it passes on (RFC 9110, 7.6). It removes the fields of one
/// connection: Connection and the fields that it names, Keep-Alive, Proxy-Connection, TE, Transfer-Encoding, Upgrade,
/// and those for the login at a proxy. In names `_` counts as `-`, because a server that hands fields to its
/// application as variables (RFC 3875, 4.1.18) cannot tell them apart.
namespace skiff::protocol {

/// The intermediary, and the facts about the client that the next server cannot see.
struct Forwarder {
  std::string_view name;    ///< its pseudonym in Via (RFC 9110, 7.6.3), a token
  std::string_view peer;    ///< the client's address without a port; empty for a Unix socket
  std::string_view scheme;  ///< "http" or "https", of the client's connection
  std::string_view prefix;  ///< prefix that was removed from the path
  bool first = false;       ///< it is the first trusted intermediary: the client's own X-Forwarded-* fields are dropped
};

/// Returns the address of `HttpExchange::peer()` without its port; empty on a Unix socket.
[[nodiscard]] std::string peer_host(std::string_view peer);

/// Returns the request's target without the first `parts` parts of its path, byte for byte as it was sent, with the
/// query: "/a%2Fb?c". It begins with a slash.
[[nodiscard]] std::string target_behind(const HttpRequest& request, int parts);

/// Returns the fields for the next server, without Host, Content-Length and Transfer-Encoding, which its own connection
/// sets. Via and X-Forwarded-For get one more entry. X-Forwarded-Host, -Proto and -Prefix are those of the client, if
/// it sent them, because it may be an intermediary, too; unless `by` is the first. Forwarded (RFC 7239) is dropped,
/// because it could contradict them. Connection is "close", or "Upgrade" for a request without a body that asks for it
/// (RFC 9110, 7.8). Expect is passed on for a request with a body, "TE: trailers" for every request.
[[nodiscard]] Headers forwarded_request(const HttpRequest& request, const Forwarder& by);

/// Removes the members that begin with `prefix` from the comma-separated lists of that name.
void remove_members(Headers& fields, std::string_view name, std::string_view prefix);

/// Whether a message has passed an intermediary of this name.
[[nodiscard]] bool has_passed(const Headers& fields, std::string_view name);

/// Returns the fields of a response, also of an interim one, for the client; without Content-Length. A 101 keeps its
/// Upgrade.
[[nodiscard]] Headers forwarded_answer(const HttpResponseHead& answer);

/// Returns trailers of either direction without the fields that frame or route a message (RFC 9110, 6.5.1).
[[nodiscard]] Headers forwarded_trailers(const Headers& trailers);

}  // namespace skiff::protocol
