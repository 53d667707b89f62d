#pragma once

#include "base/async/task.hpp"
#include "protocol/grpc/fields.hpp"
#include "runtime/dialects/sandboxd/process_service.hpp"

/// The service grpc.health.v1.Health: SERVING until the agent drains, for the server as a whole ("") and for each of
/// its services.
namespace skiff::runtime::dialects::sandboxd {

[[nodiscard]] Task<protocol::GrpcStatus> check_health(ServiceCall* call);
/// Sends the state, and sends it again when it changes.
[[nodiscard]] Task<protocol::GrpcStatus> watch_health(ServiceCall* call);

}  // namespace skiff::runtime::dialects::sandboxd
