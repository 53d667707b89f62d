#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json/openapi.hpp"

/// What the schemas of answers and events are put together from: JSON Schema as text.
namespace skiff::runtime::api {

/// A member of an object; `always`: it is never left out.
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

/// The same, with a name: in a document it is a component, which schemas that hold it refer to.
[[nodiscard]] std::string named(std::string_view name, const std::string& schema);
[[nodiscard]] std::string or_null(const std::string& schema);
[[nodiscard]] std::string one_of(const std::vector<std::string_view>& words);
[[nodiscard]] std::string list_of(const std::string& schema);
/// Further members are always allowed. `help`: what the object is.
[[nodiscard]] std::string object(const std::vector<Member>& members, std::string_view help = {});
/// Any of these components as one object, for readers that want no union: the members of all, of which none is always
/// there but those that all of them have. `type` has the words of all, and is called `type_name`. `channel` is left
/// out.
[[nodiscard]] std::string merged_components(const std::vector<protocol::SchemaRef>& components,
                                            std::string_view type_name, std::string_view help);

}  // namespace skiff::runtime::api
