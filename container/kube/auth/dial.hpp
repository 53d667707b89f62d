#pragma once

#include <optional>

#include "container/net/url.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// Returns a dialer that connects to `server` directly, by CONNECT through an http `proxy` (RFC 9110, 9.3.6), or
/// through a SOCKS 5 proxy (RFC 1928, 1929). It tries every address of the name. The stream is plain; TLS runs on top,
/// with the server and not with the proxy. Dialling through a proxy that itself needs TLS fails with `not_supported`.
[[nodiscard]] protocol::Dialer create_dialer(Executor executor, protocol::Resolver resolver, net::Url server,
                                             std::optional<net::Url> proxy);

}  // namespace skiff::kube
