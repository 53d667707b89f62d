#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// The part of a request that names its destination.
enum class NamedBy : std::uint8_t {
  host,    ///< Host: PORT-SANDBOX.DOMAIN
  path,    ///< /s/SANDBOX/PORT/...
  fields,  ///< E2b-Sandbox-Id and E2b-Sandbox-Port, as E2B's SDKs send them
  router,  ///< X-Sandbox-ID, X-Sandbox-Port (else 8888) and X-Sandbox-Namespace, as agent-sandbox's SDKs send them
};

/// The port of a sandbox that a request is meant for.
struct Destination {
  /// A DNS label (RFC 1123) in lower case: the sandbox's id, or with `router` its name. The sandbox may not exist.
  std::string sandbox;
  std::string namespace_name;  ///< a DNS label; empty: the request does not name one
  std::uint16_t port = 0;      ///< never 0
  NamedBy by = NamedBy::path;
  std::string source = {};  ///< address of the client, for the check of its credential
};

/// Parses the domain of the sandboxes' host names: two labels or more, "sandboxes.example.com" or
/// "sandboxes.localhost"; returns it in lower case. Errors: invalid_field.
[[nodiscard]] Result<std::string> parse_domain(std::string_view text);

/// The destination of a request; nullopt for a request to this server itself. `domain` comes from `parse_domain`; if it
/// is empty, hosts name no sandboxes.
///
/// A host that names a port decides, and the path then belongs to the sandbox; fields may repeat the destination.
/// Errors: invalid_request if two of these parts contradict each other, if both fields and path name a sandbox, if a
/// field is repeated, or if its companion is missing; host_not_allowed for a host below the domain that is neither
/// PORT-SANDBOX nor a single word; invalid_field for a port or a sandbox that is not in canonical form.
[[nodiscard]] Result<std::optional<Destination>> destination_of(const protocol::HttpRequest& request,
                                                                std::string_view domain);

/// The request target for the server at that port: the target as it was sent, byte for byte, without the prefix that
/// named the destination, the preview's parameter and the authority. It begins with "/". invalid_request for "*", which
/// is not a path.
[[nodiscard]] Result<std::string> target_at(const protocol::HttpRequest& request, const Destination& destination);

/// The prefix that was removed from the path: "/s/SANDBOX/PORT", or "".
[[nodiscard]] std::string prefix_of(const Destination& destination);

/// PORT-SANDBOX.DOMAIN
[[nodiscard]] std::string host_of(std::string_view sandbox, std::uint16_t port, std::string_view domain);

}  // namespace skiff::container::serve
