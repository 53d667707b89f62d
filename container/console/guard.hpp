#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// Which requests are those of the console's own page in a browser, whichever way the page got its credential
/// (door.hpp, session_door.hpp), and what it may reach.
namespace skiff::container::console {

/// True for a route of the server's own API, and for one of an agent's: /s/SANDBOX/7070/v1/... The page's origin does
/// not lead to ports of programs in a sandbox, also not through the agent, whose list of ports it reads.
[[nodiscard]] bool is_for_page(const protocol::Target& target);

/// True for a name or an address of loopback, which no page of others can own.
[[nodiscard]] bool is_loopback_name(std::string_view host);
/// The host without its port.
[[nodiscard]] std::string_view without_port(std::string_view host);

/// The values of the first cookies of this name: pages on the same name and another port can set some, too.
[[nodiscard]] std::vector<std::string_view> cookies_named(const protocol::Headers& headers, std::string_view name);

/// `origin_not_allowed` unless a script of the console's own page has sent the request. Every browser that has Fetch
/// Metadata (W3C) names the destination; only fetch(), XMLHttpRequest and WebSocket have the empty one or "websocket".
/// A document, a frame, a script or an image never counts: what a sandbox answers can be read by the page, but never
/// runs on the console's origin.
[[nodiscard]] Result<> check_own_script(const protocol::HttpRequest& request, bool is_tls);

/// True unless a browser wants to use the answer as a document, a script or a picture.
[[nodiscard]] bool may_be_for_script(const protocol::Headers& headers);

/// True for a request with a field in which clients of the server show their credentials.
[[nodiscard]] bool shows_own_credential(const protocol::Headers& headers);
/// Removes the credentials of the server, and fields that name a destination. Cookie and Authorization may belong to a
/// program in a sandbox, and stay.
void keep_fields_of_programs(protocol::Headers& fields);
/// Removes those two as well: the page needs none of them.
void keep_fields_of_page(protocol::Headers& fields);

/// Fields of every answer on the console's origin: data for the page's script, which is never a document.
void confine(protocol::Headers& answer);
/// Fields of a page without scripts, which has its style in it; they replace those of `confine`.
void confine_page(protocol::Headers& answer);

}  // namespace skiff::container::console
