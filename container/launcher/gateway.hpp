#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/client.hpp"
#include "container/kube/object.hpp"

namespace skiff::container {

/// The URL at which a Gateway (https://gateway-api.sigs.k8s.io, v1) takes HTTP: its first address with its first HTTP
/// listener's port, or the first HTTPS one's if it has no other. `sandbox_not_running` when it has no address yet.
[[nodiscard]] Result<std::string> gateway_url(const kube::Object& gateway);

/// The same of the Gateway that `name` names, [NAMESPACE/]NAME.
[[nodiscard]] Task<Result<std::string>> find_gateway(kube::Client* client, std::string name,
                                                     std::string namespace_name);

}  // namespace skiff::container
