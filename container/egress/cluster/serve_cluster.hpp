#pragma once

#include <span>

namespace skiff::container::egress {

/// True for the words of `skiff egress serve --cluster NAMESPACE`, which `skiff egress install` puts into a Deployment.
[[nodiscard]] bool is_serve_cluster(std::span<const char* const> arguments);

/// The egress proxy of the sandboxes in that namespace, as the service account of its Pod. It listens once it knows all
/// Pods, and ends on SIGTERM. Returns the exit status.
[[nodiscard]] int serve_cluster(std::span<const char* const> arguments);

}  // namespace skiff::container::egress
