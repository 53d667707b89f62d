#pragma once

#include "protocol/http/message.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The dialect's REST door: files, health and metadata.
namespace skiff::runtime::dialects::sandboxd {

/// HttpDialect::handle. What has no route is answered as by Go's ServeMux, in plain text.
[[nodiscard]] Task<Result<>> handle_rest(Request* request);

/// HttpDialect::problem: `{"code","message"}`, the code one of the original's six.
[[nodiscard]] protocol::HttpResponse rest_problem(unsigned status, const Error& error);

/// A JSON answer, ended by a newline as Go's encoder does.
[[nodiscard]] protocol::HttpResponse rest_json(unsigned status, std::string text);

}  // namespace skiff::runtime::dialects::sandboxd
