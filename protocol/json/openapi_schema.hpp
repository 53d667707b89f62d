#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace skiff::protocol {

/// Schemas by their names. Ordered, so that a document is the same each time.
using Components = std::map<std::string, nlohmann::ordered_json>;

inline constexpr std::string_view kComponentPrefix = "#/components/schemas/";

/// Moves every schema with a `title` that stands inside `schema` to the component of that name, and leaves a `$ref`
/// (with the `description` and `default` that were meant for the place). A `title` of `schema` itself is taken off.
void name_inner_schemas(nlohmann::ordered_json& schema, Components& components);

/// A JSON Schema (2020-12) as an OpenAPI 3.0.3 document has it, which more generators of clients understand than 3.1:
/// null is `nullable`, integers have a `format` by their bounds, and words that 3.0.3 lacks or that generators stumble
/// over go to `x-json-schema`: merged into the schema they make it whole again. Those are rules between members and of
/// names, patterns with escapes, and `default`, for which some send the value and some want the member always. A bound
/// that no int64 holds is left out.
void to_openapi_3_0(nlohmann::ordered_json& schema);

}  // namespace skiff::protocol
