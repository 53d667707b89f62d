#include "container/kube/objects/object.hpp"

#include <utility>

#include "container/net/time.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string{};
}

}  // namespace

Object Object::make(const Resource& resource, std::string_view namespace_name, std::string_view name) {
  Object object;
  object.json["apiVersion"] = resource.api_version();
  object.json["kind"] = resource.kind;
  object.json["metadata"]["name"] = name;
  if (resource.namespaced && !namespace_name.empty()) object.json["metadata"]["namespace"] = namespace_name;
  return object;
}

const Json* Object::find(Path path) const {
  const Json* at = &json;
  for (const std::string_view key : path) {
    if (!at->is_object()) return nullptr;
    const auto next = at->find(key);
    if (next == at->end()) return nullptr;
    at = &*next;
  }
  return at;
}

std::string Object::text(Path path) const {
  const Json* found = find(path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<std::int64_t> Object::integer(Path path) const {
  const Json* found = find(path);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

bool Object::is_true(Path path) const {
  const Json* found = find(path);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::optional<WallTime> Object::time(Path path) const {
  return net::parse_time(text(path));
}

std::map<std::string, std::string> Object::texts(Path path) const {
  std::map<std::string, std::string> out;
  const Json* found = find(path);
  if (found == nullptr || !found->is_object()) return out;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) out.emplace(key, value.get<std::string>());
  }
  return out;
}

std::vector<Condition> Object::conditions() const {
  std::vector<Condition> out;
  const Json* found = find({"status", "conditions"});
  if (found == nullptr || !found->is_array()) return out;
  for (const Json& entry : *found) {
    if (!entry.is_object()) continue;
    out.push_back({.type = text_of(entry, "type"),
                   .status = text_of(entry, "status"),
                   .reason = text_of(entry, "reason"),
                   .message = text_of(entry, "message")});
  }
  return out;
}

std::optional<Condition> Object::condition(std::string_view type) const {
  for (Condition& entry : conditions()) {
    if (entry.type == type) return std::move(entry);
  }
  return std::nullopt;
}

Json Object::owner_reference() const {
  return {{"apiVersion", text({"apiVersion"})},
          {"kind", text({"kind"})},
          {"name", name()},
          {"uid", uid()},
          {"blockOwnerDeletion", false}};
}

}  // namespace skiff::kube
