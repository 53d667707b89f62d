#pragma once

#include <string>
#include <string_view>

#include "protocol/http/server/exchange.hpp"

/// How a request has reached this server. A proxy in front of it names the client and the browser's scheme; without one
/// these fields come from the client, and say nothing.
namespace skiff::container::serve {

/// The address that the proxy has named; empty without one.
[[nodiscard]] std::string_view forwarded_for(const protocol::HttpRequest& request, bool behind_proxy);

/// The source of a request, as far as the client cannot choose it.
[[nodiscard]] std::string source_of(const protocol::HttpExchange& http, bool behind_proxy);

/// True if the client has used https.
[[nodiscard]] bool is_by_tls(const protocol::HttpExchange& http, bool behind_proxy);

}  // namespace skiff::container::serve
