#pragma once

#include "protocol/http/client.hpp"

namespace skiff::net {

/// Resolves names with c-ares on the caller's reactor, without a thread: from hosts(5) and the servers of
/// resolv.conf(5), in the order of nsswitch.conf(5), without the shared libraries that getaddrinfo(3) loads. A look-up
/// ends after 30 s at the latest, and at once when its caller is cancelled; it keeps no other one waiting. It returns
/// all addresses in the order of RFC 6724. Errors: `not_found` for a name that does not exist, `io_error` when no name
/// server answered.
[[nodiscard]] protocol::Resolver system_resolver();

}  // namespace skiff::net
