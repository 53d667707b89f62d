#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/net/url.hpp"

namespace skiff::net {

/// The value of an environment variable; empty counts as absent.
using Environment = std::function<std::string(const char* name)>;
/// The environment of this process (getenv(3)).
[[nodiscard]] std::string process_environment(const char* name);

/// Returns the proxy for `server` from HTTPS_PROXY or HTTP_PROXY (by the server's scheme; the name in lower case wins)
/// and NO_PROXY. NO_PROXY is read as curl and Go read it: names with their subdomains, addresses, CIDR blocks, each
/// with an optional port, or `*`. A loopback address and "localhost" never use a proxy.
[[nodiscard]] Result<std::optional<Url>> proxy_for(const Url& server, const Environment& environment);

/// True when `list` (NO_PROXY) names this host.
[[nodiscard]] bool is_listed(std::string_view list, std::string_view host, std::uint16_t port);

}  // namespace skiff::net
