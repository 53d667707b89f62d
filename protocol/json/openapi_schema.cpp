#include "protocol/json/openapi_schema.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace skiff::protocol {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The keywords that generators support unchanged (OpenAPI 3.0.3, Schema Object).
constexpr std::array<std::string_view, 19> kCommonWords{"type",
                                                        "format",
                                                        "description",
                                                        "enum",
                                                        "minimum",
                                                        "maximum",
                                                        "minLength",
                                                        "maxLength",
                                                        "pattern",
                                                        "minItems",
                                                        "maxItems",
                                                        "maxProperties",
                                                        "required",
                                                        "properties",
                                                        "items",
                                                        "writeOnly",
                                                        "nullable",
                                                        "$ref",
                                                        "additionalProperties"};

/// Calls `visit` with each schema directly inside this one.
template <class Visit>
void each_inner(OrderedJson& schema, Visit visit) {
  if (const auto members = schema.find("properties"); members != schema.end()) {
    for (auto& [name, member] : members->items()) visit(member);
  }
  for (const char* word : {"items", "additionalProperties"}) {
    const auto found = schema.find(word);
    if (found != schema.end() && found->is_object()) visit(*found);
  }
  for (const char* word : {"anyOf", "oneOf", "allOf"}) {
    const auto found = schema.find(word);
    if (found == schema.end()) continue;
    for (OrderedJson& one : *found) visit(one);
  }
}

/// Removes null from a schema that allows null and one other type; returns false for another schema.
bool take_null(OrderedJson& schema) {
  if (const auto type = schema.find("type"); type != schema.end() && type->is_array() && type->size() == 2) {
    if ((*type)[1] != "null") return false;
    *type = OrderedJson((*type)[0]);
    return true;
  }
  const auto any = schema.find("anyOf");
  if (any == schema.end() || any->size() != 2 || (*any)[1] != OrderedJson{{"type", "null"}}) return false;
  OrderedJson bare = std::move((*any)[0]);
  schema.erase("anyOf");
  bare.update(schema);
  schema = std::move(bare);
  return true;
}

void give_format(OrderedJson& schema) {
  using Narrow = std::numeric_limits<std::int32_t>;
  using Wide = std::numeric_limits<std::int64_t>;
  if (const auto type = schema.find("type"); type == schema.end() || *type != "integer") return;
  const auto bound = schema.find("maximum");
  const std::uint64_t most =
      bound == schema.end() ? std::numeric_limits<std::uint64_t>::max() : bound->get<std::uint64_t>();
  if (bound != schema.end() && most > static_cast<std::uint64_t>(Wide::max())) schema.erase(bound);
  schema["format"] = most <= static_cast<std::uint64_t>(Narrow::max()) ? "int32" : "int64";
}

/// Moves the keywords that only some tools understand to `x-json-schema`.
void set_aside(OrderedJson& schema) {
  OrderedJson aside = OrderedJson::object();
  for (const auto& [word, value] : schema.items()) {
    const bool has_escape = word == "pattern" && value.get_ref<const std::string&>().contains('\\');
    const bool is_list = word == "type" && value.is_array();
    if (has_escape || is_list ||
        (std::ranges::find(kCommonWords, word) == kCommonWords.end() && !word.starts_with("x-")))
      aside[word] = value;
  }
  if (aside.empty()) return;
  for (const auto& [word, value] : aside.items()) schema.erase(word);
  schema["x-json-schema"] = std::move(aside);
}

}  // namespace

void name_inner_schemas(OrderedJson& schema, Components& components) {
  schema.erase("title");
  each_inner(schema, [&components](OrderedJson& inner) {
    std::string name = inner.value("title", "");
    name_inner_schemas(inner, components);
    if (name.empty()) return;
    OrderedJson place{{"$ref", std::string{kComponentPrefix} + name}};
    for (const char* word : {"description", "default"}) {
      const auto found = inner.find(word);
      if (found == inner.end()) continue;
      place[word] = std::move(*found);
      inner.erase(word);
    }
    components.try_emplace(std::move(name), std::move(inner));
    inner = std::move(place);
  });
}

void to_openapi_3_0(OrderedJson& schema) {
  const bool is_nullable = take_null(schema);
  give_format(schema);
  set_aside(schema);
  each_inner(schema, to_openapi_3_0);
  if (!is_nullable) return;
  // A $ref excludes all other keywords.
  if (const auto to = schema.find("$ref"); to != schema.end()) {
    schema["allOf"] = OrderedJson::array({{{"$ref", *to}}});
    schema.erase("$ref");
  }
  schema["nullable"] = true;
}

}  // namespace skiff::protocol
