#pragma once

#include <optional>

#include "container/kube/url.hpp"
#include "protocol/http_client.hpp"

namespace skiff::kube {

/// Connects to `server`, directly or by CONNECT through `proxy` (RFC 9110, 9.3.6), trying every address of the name.
/// The stream is plain; TLS comes on top and sees the server, not the proxy.
[[nodiscard]] protocol::Dialer make_dialer(Executor executor, protocol::Resolver resolver, Url server,
                                           std::optional<Url> proxy);

}  // namespace skiff::kube
