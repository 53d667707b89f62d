#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace skiff::kube {

/// Reads one YAML document (YAML 1.2's core schema, as in kubectl) as a JSON value, so that one codec does the rest. An
/// empty document is null. Errors: `invalid_field` with line and column; also for what JSON cannot express (a key that
/// is not a scalar, a repeated key), for more than one document, and above 4 MiB, 64 levels or 100,000 values after
/// aliases are followed.
[[nodiscard]] Result<nlohmann::json> parse_yaml(std::string_view text);

}  // namespace skiff::kube
