#pragma once

#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "runtime/dialects/fastapi.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The bodies of the original's answers: those of its own code, and those of FastAPI, with which it is built.
namespace skiff::runtime::dialects::python_runtime {

/// A response with the original's own body, `{"message": text}`.
[[nodiscard]] protocol::HttpResponse message(unsigned status, std::string_view text);

/// The dialect's `HttpDialect::problem`. An invalid body has the status 422, as in FastAPI.
[[nodiscard]] protocol::HttpResponse problem(unsigned status, const Error& error);

/// The response for a path that cannot be used: 403 `Access denied` if it leaves the root, else the error's own status
/// with `doing`, a colon and the error's message.
[[nodiscard]] protocol::HttpResponse path_refused(std::string_view doing, const Error& error);

}  // namespace skiff::runtime::dialects::python_runtime
