#pragma once

#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// Checks that the request's revision has its method. Errors: method_not_found.
[[nodiscard]] RpcResult<void> check_method(const Request& request);

/// Runs a request and returns its whole answer, also for an error. The endpoint answers `initialize` itself.
[[nodiscard]] Task<std::string> answer(std::shared_ptr<Request> request);

/// The result of `initialize` that agrees on `revision`.
[[nodiscard]] std::string initialize_result(Revision revision);

}  // namespace skiff::runtime::mcp
