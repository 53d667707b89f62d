#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::protocol::service {

/// The media type of a Content-Type without its parameters, as it was sent: "application/json".
[[nodiscard]] std::string_view media_type(std::string_view content_type) noexcept;

/// True for application/json and application/merge-patch+json, whatever the parameters.
[[nodiscard]] bool is_json(std::string_view content_type) noexcept;

/// Whether the body is what its type says, and not packed once more (RFC 9110, 8.4): nobody here would unpack it.
/// Errors: unsupported_media_type.
[[nodiscard]] Result<> check_coding(const HttpRequest& request);

/// The whole body of a route that takes JSON. Errors: unsupported_media_type for a body that does not say so, and those
/// of `HttpExchange::read_body`.
[[nodiscard]] Task<Result<std::string>> read_json(HttpExchange* http, std::size_t most);

}  // namespace skiff::protocol::service
