#pragma once

#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "runtime/dialects/fastapi.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The bodies that the original answers with: those of its own code, and those of FastAPI, which it is made with.
namespace skiff::runtime::dialects::python_runtime {

/// `{"message": text}`: how the original itself speaks.
[[nodiscard]] protocol::HttpResponse message(unsigned status, std::string_view text);

/// HttpDialect::problem. What is wrong in a body is 422, as FastAPI has it.
[[nodiscard]] protocol::HttpResponse problem(unsigned status, const Error& error);

/// What becomes of a path that can't be used: 403 `Access denied` when it leaves the root, else the error's own status
/// with `doing`, a colon and its sentence.
[[nodiscard]] protocol::HttpResponse path_refused(std::string_view doing, const Error& error);

}  // namespace skiff::runtime::dialects::python_runtime
