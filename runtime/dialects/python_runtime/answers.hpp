#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "runtime/dialects/fastapi.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The bodies that the original answers with: those of its own code, and those of FastAPI, which it is made with.
namespace skiff::runtime::dialects::python_runtime {

/// `{"message": text}`: how the original itself speaks.
[[nodiscard]] protocol::HttpResponse message(unsigned status, std::string_view text);

/// One finding of pydantic's about a body.
struct Finding {
  std::string type;
  std::vector<std::variant<std::string, std::uint64_t>> place;  ///< behind "body"
  std::string text;
  std::string input;    ///< JSON: what was found there
  std::string context;  ///< JSON; empty: none
};
/// 422 `{"detail": [{"type", "loc", "msg", "input", "ctx"?}]}`.
[[nodiscard]] protocol::HttpResponse unprocessable(const std::vector<Finding>& findings);
/// A required part of a body that is not there; `input` is what holds it.
[[nodiscard]] Finding missing(std::vector<std::variant<std::string, std::uint64_t>> place, std::string input);

/// HttpDialect::problem.
[[nodiscard]] protocol::HttpResponse problem(unsigned status, const Error& error);

/// What becomes of a path that can't be used: 403 `Access denied` when it leaves the root, else the error's own status
/// with `doing`, a colon and its sentence.
[[nodiscard]] protocol::HttpResponse path_refused(std::string_view doing, const Error& error);

}  // namespace skiff::runtime::dialects::python_runtime
