#pragma once

#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"
#include "container/kube/objects/object.hpp"
#include "container/net/url.hpp"

namespace skiff::container {

/// The address at which a Gateway accepts HTTP.
struct GatewayAddress {
  net::Url url;          ///< its address and port
  std::string hostname;  ///< host name of its listener, for requests and certificates; empty: the address itself
};

/// The address of a Gateway (https://gateway-api.sigs.k8s.io, v1): its first address with the port of its first HTTP
/// listener, or else of its first HTTPS listener. `sandbox_not_running` if it has no address yet.
[[nodiscard]] Result<GatewayAddress> gateway_address(const kube::Object& gateway);

/// Reads the Gateway `name` ([NAMESPACE/]NAME) and returns its address.
[[nodiscard]] Task<Result<GatewayAddress>> find_gateway(kube::Client* client, std::string name,
                                                        std::string namespace_name);

}  // namespace skiff::container
