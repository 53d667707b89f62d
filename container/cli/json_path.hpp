#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// Parts of a result, by templates as kubectl has them.
namespace skiff::container {

/// `-o jsonpath=TEMPLATE`
inline constexpr std::string_view kJsonPath = "jsonpath=";

/// Text as it is, and in braces what stands for values: {.items[0].name}, {.items[*].name}, {.labels['a.b']}, {"\n"},
/// {range .items[*]}{.name}{"\n"}{end}. Several values are separated by spaces, what is not there is empty. A template
/// without braces is a path. Filters are not known. Errors: `invalid_field`.
[[nodiscard]] Result<std::string> format_json_path(std::string_view text, const nlohmann::json& value);

/// The paths that lead to something in a value, or in the first of its items, for one who has found nothing:
/// ".name, .state", or ".items[*].name, .items[*].state". Empty for a list without items.
[[nodiscard]] std::string known_paths(const nlohmann::json& value);

/// The values to which a path without braces leads; its first dot may be left out.
[[nodiscard]] Result<std::vector<nlohmann::json>> find_json_path(std::string_view path, const nlohmann::json& value);

}  // namespace skiff::container
