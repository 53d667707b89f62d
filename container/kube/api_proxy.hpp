#pragma once

#include <cstdint>
#include <string>

#include "container/kube/transport.hpp"

namespace skiff::kube {

/// HTTP to a pod or a service through the API server (`pods/proxy`, `services/proxy`): works where port-forward
/// doesn't, carries streams and WebSockets, and needs no connection of its own. The API server keeps `Authorization`
/// for itself, so the agent's token goes in X-Skiff-Token.
class ApiProxy {
 public:
  struct Destination {
    enum class Kind : std::uint8_t { pod, service };
    Kind kind = Kind::pod;
    std::string namespace_name;
    std::string name;
    std::uint16_t port = 0;  ///< of a service its own port, not the target's
    bool tls = false;        ///< the API server speaks TLS to it, and checks no certificate
  };

  /// `transport` must outlive it. `agent_token` may be empty.
  ApiProxy(Transport* transport, const Destination& destination, std::string agent_token);

  /// For an HttpClient, or for the handshake of a WebSocket.
  [[nodiscard]] protocol::HttpClientOptions client_options() const { return transport_->client_options(); }
  /// A request to the agent as the API server wants it: the path with its prefix, both credentials.
  [[nodiscard]] Task<Result<protocol::HttpClient::Request>> wrap(protocol::HttpClient::Request request);

 private:
  Transport* transport_;
  std::string prefix_;
  std::string agent_token_;
};

/// "/api/v1/namespaces/a/pods/https:b:8888/proxy".
[[nodiscard]] std::string proxy_path(const ApiProxy::Destination& destination);

}  // namespace skiff::kube
