#include "runtime/api/answers/schema_parts.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"

namespace skiff::runtime::api {
namespace {

/// Appends `,"description":"..."`.
void append_help(std::string& schema, std::string_view help) {
  if (help.empty()) return;
  schema += R"(,"description":)";
  protocol::append_json_string(schema, help);
}

}  // namespace

std::string named(std::string_view name, const std::string& schema) {
  std::string text{R"({"title":)"};
  protocol::append_json_string(text, name);
  return text.append(",").append(schema, 1);
}

std::string or_null(const std::string& schema) {
  return R"({"anyOf":[)" + schema + R"(,{"type":"null"}]})";
}

std::string one_of(const std::vector<std::string_view>& words) {
  std::string text{R"({"type":"string","enum":[)"};
  for (const std::string_view word : words) {
    if (!text.ends_with('[')) text += ',';
    protocol::append_json_string(text, word);
  }
  return text + "]}";
}

std::string list_of(const std::string& schema) {
  return R"({"type":"array","items":)" + schema + '}';
}

std::string object(const std::vector<Member>& members, std::string_view help) {
  std::string text{R"({"type":"object","properties":{)"};
  std::string required;
  for (const Member& member : members) {
    protocol::append_json_key(text, member.name);
    text.append(member.schema, 0, member.schema.size() - 1);
    append_help(text, member.help);
    text += '}';
    if (!member.always) continue;
    if (!required.empty()) required += ',';
    protocol::append_json_string(required, member.name);
  }
  text += '}';
  if (!required.empty()) text += R"(,"required":[)" + required + ']';
  append_help(text, help);
  return text + '}';
}

std::string merged_components(const std::vector<protocol::SchemaRef>& components, std::string_view type_name,
                              std::string_view help) {
  using Json = nlohmann::ordered_json;
  Json merged = Json::parse(object({{"type", named(type_name, one_of({}))}}, help));
  Json& members = merged["properties"];
  std::map<std::string, std::size_t> always;
  for (const protocol::SchemaRef& component : components) {
    Json one = Json::parse(component.json);
    one["properties"].erase("channel");
    for (auto& [name, schema] : one["properties"].items()) {
      if (name != "type") {
        members.emplace(name, std::move(schema));
        continue;
      }
      for (auto& word : schema["enum"]) members["type"]["enum"].push_back(std::move(word));
    }
    for (const auto& name : one["required"]) ++always[name.get<std::string>()];
  }
  std::erase_if(always, [&](const auto& one) { return one.second != components.size(); });
  merged.erase("required");  // an empty list of them is not allowed (OpenAPI 3.0.3)
  for (const auto& [name, count] : always) merged["required"].push_back(name);
  return merged.dump();
}

}  // namespace skiff::runtime::api
