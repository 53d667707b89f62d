#pragma once

#include <memory>

#include "base/async/blocking_pool.hpp"
#include "protocol/http/client.hpp"

namespace skiff::net {

/// Resolves names with c-ares on a thread of `pool`: from hosts(5) and the servers of resolv.conf(5), in the order of
/// nsswitch.conf(5), without the shared libraries that getaddrinfo(3) loads. A look-up ends after 30 s at the latest,
/// and at once when its caller is cancelled. It returns all addresses in the order of RFC 6724. An address literal
/// needs no thread. Errors: `not_found` for a name that does not exist, `io_error` when no name server answered.
[[nodiscard]] protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool);

}  // namespace skiff::net
