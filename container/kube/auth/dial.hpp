#pragma once

#include <optional>

#include "container/kube/auth/url.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// Connects to `server`, directly, by CONNECT through an http `proxy` (RFC 9110, 9.3.6) or through one that speaks
/// SOCKS 5 (RFC 1928, 1929), trying every address of the name. The stream is plain; TLS comes on top and sees the
/// server, not the proxy. A proxy that is itself reached by TLS is refused when it is dialled: `not_supported`.
[[nodiscard]] protocol::Dialer make_dialer(Executor executor, protocol::Resolver resolver, Url server,
                                           std::optional<Url> proxy);

}  // namespace skiff::kube
