#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/support/page.hpp"

/// Writes JSON Schemas of the OpenAPI document as Markdown.
namespace skiff::runtime::api {

using Json = nlohmann::ordered_json;

/// The name of the component that a $ref leads to.
inline std::string component_of(const Json& schema) {
  const std::string reference = schema.value("$ref", "");
  return reference.substr(reference.rfind('/') + 1);
}

/// Replaces the references of a schema by their targets.
inline Json inlined(Json schema, const Json& components) {
  if (schema.contains("$ref")) {
    Json target = inlined(components.at(component_of(schema)), components);
    schema.erase("$ref");
    target.update(schema);
    return target;
  }
  if (schema.contains("properties")) {
    for (auto& [name, member] : schema["properties"].items()) member = inlined(member, components);
  }
  for (const char* word : {"items", "additionalProperties"}) {
    if (schema.contains(word) && schema[word].is_object()) schema[word] = inlined(schema[word], components);
  }
  return schema;
}

/// Describes a type: `integer`, "list of string", the values of an enum.
inline std::string type_in_words(const Json& schema) {
  if (schema.value("nullable", false)) {
    Json bare = schema;
    bare.erase("nullable");
    return type_in_words(bare) + " or null";
  }
  if (schema.contains("anyOf")) {
    std::string words;
    for (const Json& one : schema["anyOf"]) words += (words.empty() ? "" : " or ") + type_in_words(one);
    return words;
  }
  if (schema.contains("enum")) {
    std::string words;
    for (const Json& word : schema["enum"]) words += (words.empty() ? "" : " ") + test::code(word.get<std::string>());
    return words;
  }
  const Json type = schema.value("type", Json{});
  if (type.is_array()) return "string or null";
  if (type == "array") return "list of " + type_in_words(schema["items"]);
  if (type == "object" && !schema.contains("properties")) {
    return "map of " + type_in_words(schema.value("additionalProperties", Json{{"type", "any"}}));
  }
  if (schema.value("format", "") == "date-time") return "time";
  if (schema.value("pattern", "").starts_with("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}")) return "id";
  return type.is_string() ? type.get<std::string>() : "any";
}

/// Most values of an enum in the column of types; more would make it too wide.
inline constexpr std::size_t kManyWords = 6;

/// Adds a row for each member of an object and of its inner objects: field, type, meaning. `?` marks an optional
/// member.
inline void add_members(test::MarkdownTable& table, const Json& object, const std::string& prefix = {}) {
  const Json required = object.value("required", Json::array());
  for (const auto& [name, schema] : object["properties"].items()) {
    const bool always = std::ranges::find(required, Json(name)) != required.end();
    std::string type = type_in_words(schema);
    std::string meaning = schema.value("description", "");
    if (schema.value("enum", Json::array()).size() > kManyWords) meaning += ": " + std::exchange(type, "string");
    table.add({test::code(prefix + name + (always ? "" : "?")), type, meaning});
    const Json& inner = schema.value("type", Json{}) == "array" ? schema["items"] : schema;
    if (!inner.contains("properties")) continue;
    add_members(table, inner, prefix + name + (&inner == &schema ? "." : "[]."));
  }
}

inline std::string members_table(const Json& object) {
  test::MarkdownTable table{{"Field", "Type", "Meaning"}};
  add_members(table, object);
  return table.text();
}

}  // namespace skiff::runtime::api
