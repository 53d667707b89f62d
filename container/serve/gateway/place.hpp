#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// By what a request says where it is meant to go.
enum class PlacedBy : std::uint8_t {
  host,    ///< Host: PORT-SANDBOX.DOMAIN
  path,    ///< /s/SANDBOX/PORT/...
  fields,  ///< E2b-Sandbox-Id and E2b-Sandbox-Port, as E2B's SDKs send them
  router,  ///< X-Sandbox-ID, X-Sandbox-Port (else 8888) and X-Sandbox-Namespace, as agent-sandbox's SDKs send them
};

/// The port of a sandbox that a request is meant for.
struct Placed {
  /// A DNS label (RFC 1123) in lower case: the sandbox's id, and with `router` its name. Nobody has looked yet whether
  /// there is such a one.
  std::string sandbox;
  std::string namespace_name;  ///< a DNS label; empty: the request does not say
  std::uint16_t port = 0;      ///< never 0
  PlacedBy by = PlacedBy::path;
  std::string source = {};  ///< where it comes from, for whoever looks at its credential
};

/// Below which sandboxes have names: two labels or more, "sandboxes.example.com" or "sandboxes.localhost", in lower
/// case. Errors: invalid_field.
[[nodiscard]] Result<std::string> parse_domain(std::string_view text);

/// What a request is meant for; nothing for one to this server itself. `domain` is what `parse_domain` gives; empty: no
/// request is placed by its host.
///
/// A host that names a port decides, and the path is the sandbox's then; fields may repeat what it says. Errors:
/// invalid_request when two of these ways contradict each other, also of fields and path, when a field is repeated, or
/// lacks the one that belongs to it; host_not_allowed for another host below the domain than PORT-SANDBOX and a single
/// word; invalid_field for a port or a sandbox that is not written in its one form.
[[nodiscard]] Result<std::optional<Placed>> place(const protocol::HttpRequest& request, std::string_view domain);

/// What the server at that port is asked for: the target as it was sent, byte for byte, without what has placed it, the
/// parameter and the authority. It begins with "/". invalid_request for "*", which is not a path.
[[nodiscard]] Result<std::string> target_at(const protocol::HttpRequest& request, const Placed& placed);

/// What was taken off the front of the path: "/s/SANDBOX/PORT", or nothing.
[[nodiscard]] std::string prefix_of(const Placed& placed);

/// PORT-SANDBOX.DOMAIN
[[nodiscard]] std::string host_of(std::string_view sandbox, std::uint16_t port, std::string_view domain);

}  // namespace skiff::container::serve
