#pragma once

#include <memory>

#include "base/async/blocking_pool.hpp"
#include "protocol/http/client.hpp"

namespace skiff::net {

/// Resolves names with getaddrinfo(3) on a thread of `pool`. The call may block for as long as resolv.conf(5) says (30
/// s with three dead servers) and cannot be interrupted. It returns all addresses in the order of RFC 6724. An address
/// literal needs no thread. Errors: `not_found` for a name that does not exist, `io_error` when no name server
/// answered.
[[nodiscard]] protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool);

}  // namespace skiff::net
