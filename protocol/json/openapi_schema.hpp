#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace skiff::protocol {

/// Schemas by name. Ordered, so that a document is reproducible.
using Components = std::map<std::string, nlohmann::ordered_json>;

inline constexpr std::string_view kComponentPrefix = "#/components/schemas/";

/// Moves every inner schema with a `title` to the component of that name, and leaves a `$ref` (with the `description`
/// and `default` of its place). Removes the `title` of `schema` itself.
void name_inner_schemas(nlohmann::ordered_json& schema, Components& components);

/// Converts a JSON Schema (2020-12) to OpenAPI 3.0.3, which more client generators support than 3.1. Null becomes
/// `nullable`; integers get a `format` by their bounds. Keywords that 3.0.3 lacks or that generators fail on move to
/// `x-json-schema`; merged back, they restore the schema. These are rules between members and for names, patterns with
/// escapes, and `default`, for which some generators send the value and some require the member. A bound outside of
/// int64 is dropped.
void to_openapi_3_0(nlohmann::ordered_json& schema);

}  // namespace skiff::protocol
