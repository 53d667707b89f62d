#pragma once

#include <memory>

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// Serves the dialect's gRPC methods over HTTP/2 with prior knowledge.
[[nodiscard]] std::unique_ptr<Service> open_grpc(Agent& agent);

}  // namespace skiff::runtime::dialects::sandboxd
