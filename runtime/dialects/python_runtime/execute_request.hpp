#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/http/message.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// The body of /execute.
struct ExecuteRequest {
  std::string command;
  std::optional<double> timeout_seconds = {};  ///< above 0; infinite: none
  bool knows_timeouts = false;                 ///< it names `timeout_seconds`, so it reads `timed_out`
};

/// Reads it as FastAPI does with `command: str` and `timeout_seconds: float | None`, other members ignored; without a
/// content type it is taken for JSON. `max_bytes` bounds the JSON text. The response when it is refused: 422 with
/// FastAPI's findings, or 400 where it is not UTF-8.
[[nodiscard]] std::expected<ExecuteRequest, protocol::HttpResponse> read_execute_request(
    std::optional<std::string_view> content_type, std::string_view body, std::size_t max_bytes);

}  // namespace skiff::runtime::dialects::python_runtime
