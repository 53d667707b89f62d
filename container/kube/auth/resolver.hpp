#pragma once

#include <memory>

#include "base/blocking_pool.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// Names by getaddrinfo(3), on a thread of `pool`: it may block for as long as resolv.conf(5) says (30 s with three
/// dead servers), and can't be interrupted. All addresses, in the order of RFC 6724. A literal needs no thread. Errors:
/// `not_found` for a name that doesn't exist, `io_error` when no server answered.
[[nodiscard]] protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool);

}  // namespace skiff::kube
