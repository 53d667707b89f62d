#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/auth/url.hpp"
#include "container/kube/client.hpp"
#include "container/kube/object.hpp"

namespace skiff::container {

/// Where a Gateway takes HTTP.
struct GatewayAddress {
  kube::Url url;         ///< its address and port
  std::string hostname;  ///< what its listener is for, in requests and in certificates; empty: the address itself
};

/// Of a Gateway (https://gateway-api.sigs.k8s.io, v1): its first address with its first HTTP listener's port, or the
/// first HTTPS one's if it has no other. `sandbox_not_running` when it has no address yet.
[[nodiscard]] Result<GatewayAddress> gateway_address(const kube::Object& gateway);

/// The same of the Gateway that `name` names, [NAMESPACE/]NAME.
[[nodiscard]] Task<Result<GatewayAddress>> find_gateway(kube::Client* client, std::string name,
                                                        std::string namespace_name);

}  // namespace skiff::container
