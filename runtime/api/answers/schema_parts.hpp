#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json/openapi.hpp"

/// Parts of the schemas of answers and events: JSON Schema as text.
namespace skiff::runtime::api {

/// A member of an object; `always` means that it is never left out.
struct Member {
  std::string_view name;
  std::string schema;
  bool always = true;
  std::string_view help = {};
};

inline const std::string kText = R"({"type":"string"})";
inline const std::string kCount = R"({"type":"integer","minimum":0})";
inline const std::string kFlag = R"({"type":"boolean"})";
inline const std::string kTime = R"({"type":"string","format":"date-time"})";
inline const std::string kId = R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})";
inline const std::string kTexts = R"({"type":"array","items":{"type":"string"}})";
inline const std::string kLabels = R"({"type":"object","additionalProperties":{"type":"string"}})";

/// Names a schema: in a document it becomes a component, which other schemas refer to.
[[nodiscard]] std::string named(std::string_view name, const std::string& schema);
[[nodiscard]] std::string or_null(const std::string& schema);
[[nodiscard]] std::string one_of(const std::vector<std::string_view>& words);
[[nodiscard]] std::string list_of(const std::string& schema);
/// The schema of an object. Further members are always allowed; `help` describes the object.
[[nodiscard]] std::string object(const std::vector<Member>& members, std::string_view help = {});
/// Merges components into one object, for readers that support no unions. It has the members of all components; a
/// member is required if all components require it. The enum `type` has the values of all, and its schema is named
/// `type_name`. `channel` is left out.
[[nodiscard]] std::string merged_components(const std::vector<protocol::SchemaRef>& components,
                                            std::string_view type_name, std::string_view help);

}  // namespace skiff::runtime::api
