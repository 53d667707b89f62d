#include "runtime/api/schema_parts.hpp"

#include "protocol/json/text.hpp"

namespace skiff::runtime::api {
namespace {

/// `"description":"..."`, with a comma before it.
void append_help(std::string& schema, std::string_view help) {
  if (help.empty()) return;
  schema += R"(,"description":)";
  protocol::append_json_string(schema, help);
}

}  // namespace

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

std::string per_stream(const std::string& schema) {
  return object({{"stdout", schema}, {"stderr", schema}});
}

std::string one_of_components(const std::vector<protocol::SchemaRef>& components, std::string_view help) {
  std::string text{R"({"oneOf":[)"};
  for (const protocol::SchemaRef& component : components) {
    if (!text.ends_with('[')) text += ',';
    text += R"({"$ref":"#/components/schemas/)" + component.name + R"("})";
  }
  text += ']';
  append_help(text, help);
  return text + '}';
}

}  // namespace skiff::runtime::api
