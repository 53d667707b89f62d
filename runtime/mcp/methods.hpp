#pragma once

#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// Errors: method_not_found for one that the request's revision does not know.
[[nodiscard]] RpcResult<void> check_method(const Request& request);

/// The whole answer to a request, an error's too. `initialize` is the transport's.
[[nodiscard]] Task<std::string> answer(std::shared_ptr<Request> request);

/// What `initialize` answers a client that asks for a revision.
[[nodiscard]] std::string initialize_result(Revision revision);

}  // namespace skiff::runtime::mcp
