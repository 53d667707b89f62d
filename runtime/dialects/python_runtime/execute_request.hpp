#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// The body of /execute.
struct ExecuteRequest {
  std::string command;
  std::optional<double> timeout_seconds = {};  ///< above 0; infinite: none
  bool knows_timeouts = false;                 ///< the body has `timeout_seconds`, so its client reads `timed_out`
};

/// Reads the body as the original does with `command: str` and `timeout_seconds: float | None`; other members are
/// ignored. A body without a content type counts as JSON. `max_bytes` bounds the JSON text. Errors: payload_too_large;
/// malformed_json, missing_field and invalid_field, with `field`.
[[nodiscard]] Result<ExecuteRequest> read_execute_request(std::optional<std::string_view> content_type,
                                                          std::string_view body, std::size_t max_bytes);

}  // namespace skiff::runtime::dialects::python_runtime
