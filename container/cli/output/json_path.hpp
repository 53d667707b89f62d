#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// Selects parts of a result by templates like kubectl's.
namespace skiff::container {

/// `-o jsonpath=TEMPLATE`
inline constexpr std::string_view kJsonPath = "jsonpath=";

/// Formats a template: text, and expressions in braces that stand for values: {.items[0].name}, {.items[*].name},
/// {.labels['a.b']}, {"\n"}, {range .items[*]}{.name}{"\n"}{end}. Several values are separated by spaces; a missing
/// value is empty. A template without braces is a path. Filters are not supported. Errors: `invalid_field`.
[[nodiscard]] Result<std::string> format_json_path(std::string_view text, const nlohmann::json& value);

/// The paths that exist in a value, or in the first of its items, for a message about a path that does not: ".name,
/// .state", or ".items[*].name, .items[*].state". Empty for a list without items.
[[nodiscard]] std::string known_paths(const nlohmann::json& value);

/// The values to which a path without braces leads; its first dot may be left out.
[[nodiscard]] Result<std::vector<nlohmann::json>> find_json_path(std::string_view path, const nlohmann::json& value);

}  // namespace skiff::container
