#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skiff::kube {

/// "/api/v1/namespaces/a/pods/b:8888/proxy": the path for HTTP to a Pod through the API server. The proxy works where
/// port-forward does not, carries streams and WebSockets, and needs no connection of its own. The API server consumes
/// `Authorization`, so the agent's token goes in X-Skiff-Token.
[[nodiscard]] std::string proxy_path(std::string_view namespace_name, std::string_view pod, std::uint16_t port);

}  // namespace skiff::kube
