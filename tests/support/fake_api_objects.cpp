// The objects, and who selects which.
#include "tests/support/fake_api_server.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/clock.hpp"
#include "container/net/time.hpp"

namespace skiff::kube::fakes {
namespace {

using Json = nlohmann::json;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, separator)) parts.emplace_back(std::string_view{part});
  return parts;
}

/// At the commas that are not between brackets.
std::vector<std::string> terms_of(std::string_view selector) {
  std::vector<std::string> terms{1};
  bool is_in_brackets = false;
  for (const char c : selector) {
    if (c == '(' || c == ')') is_in_brackets = c == '(';
    if (c == ',' && !is_in_brackets) {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

/// `a=b`, `a!=b`, `a in (b,c)`, `a`, `!a`.
bool has_labels(const Json& object, const std::string& selector) {
  if (selector.empty()) return true;
  const Json labels = object.value(Json::json_pointer{"/metadata/labels"}, Json::object());
  return std::ranges::all_of(terms_of(selector), [&](const std::string& term) {
    if (const std::size_t at = term.find(" in ("); at != std::string::npos) {
      const std::string values = term.substr(at + 5, term.size() - at - 6);
      return std::ranges::count(split(values, ','), labels.value(term.substr(0, at), "")) > 0;
    }
    if (const std::size_t at = term.find("!="); at != std::string::npos) {
      return labels.value(term.substr(0, at), "") != term.substr(at + 2);
    }
    if (const std::size_t at = term.find('='); at != std::string::npos) {
      return labels.contains(term.substr(0, at)) && labels[term.substr(0, at)] == term.substr(at + 1);
    }
    return term.starts_with('!') ? !labels.contains(term.substr(1)) : labels.contains(term);
  });
}

/// `metadata.name=a,type=Warning`.
bool has_fields(const Json& object, const std::string& selector) {
  if (selector.empty()) return true;
  return std::ranges::all_of(split(selector, ','), [&](const std::string& term) {
    const std::size_t at = term.find('=');
    std::string pointer = "/" + term.substr(0, at);
    std::ranges::replace(pointer, '.', '/');
    return FakeApiServer::text_of(object, pointer) == term.substr(at + 1);
  });
}

}  // namespace

std::string FakeApiServer::text_of(const Json& json, std::string_view pointer) {
  const Json::json_pointer at{std::string{pointer}};
  return json.contains(at) && json.at(at).is_string() ? json.at(at).get<std::string>() : std::string{};
}

std::string FakeApiServer::Request::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string{} : found->second;
}

FakeApiServer::Key FakeApiServer::key_of(const Resource& resource, std::string_view namespace_name,
                                         std::string_view name) {
  return {resource.api_version(), std::string{resource.plural},
          resource.namespaced ? std::string{namespace_name} : std::string{}, std::string{name}};
}

bool FakeApiServer::is_within(const Key& key, const ResourcePath& place) {
  const auto& [api, plural, namespace_name, name] = key;
  return api == place.api && plural == place.plural &&
         (place.namespace_name.empty() || namespace_name == place.namespace_name);
}

bool FakeApiServer::is_selected(const Json& object, const Request& request) {
  return has_labels(object, request.parameter("labelSelector")) &&
         has_fields(object, request.parameter("fieldSelector"));
}

void FakeApiServer::store(const Key& key, Json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Json& slot = objects_[key];
  history_.push_back({.version = version_, .key = key, .before = slot, .after = object});
  slot = std::move(object);
  changed_.notify_all();
}

void FakeApiServer::drop(const Key& key) {
  const auto there = objects_.find(key);
  if (there == objects_.end()) return;
  const Json object = std::move(there->second);
  objects_.erase(there);
  history_.push_back({.version = ++version_, .key = key, .before = object});
  changed_.notify_all();
  drop_dependants(text_of(object, "/metadata/uid"), false);
  if (std::get<1>(key) != kNamespaces.plural) return;
  std::vector<Key> inside;
  for (const auto& [other, ignored] : objects_) {
    if (std::get<2>(other) == std::get<3>(key)) inside.push_back(other);
  }
  for (const Key& other : inside) drop(other);
}

void FakeApiServer::drop_dependants(const std::string& uid, bool orphan) {
  std::vector<Key> dependants;
  for (const auto& [key, object] : objects_) {
    const Json owners = object["metadata"].value("ownerReferences", Json::array());
    if (std::ranges::any_of(owners, [&](const Json& owner) { return owner.value("uid", "") == uid; })) {
      dependants.push_back(key);
    }
  }
  for (const Key& key : dependants) {
    if (!objects_.contains(key)) continue;
    Json object = objects_.at(key);
    if (orphan) object["metadata"].erase("ownerReferences");
    const bool lingers = !orphan && std::get<1>(key) == kPods.plural && pods_linger;
    if (lingers) object["metadata"]["deletionTimestamp"] = net::format_time(wall_now());
    if (orphan || lingers) {
      store(key, std::move(object));
    } else {
      drop(key);
    }
  }
}

bool FakeApiServer::has_living_owner(const Json& object) const {
  const Json owners = object.at("metadata").value("ownerReferences", Json::array());
  return owners.empty() || std::ranges::any_of(owners, [&](const Json& owner) {
           return std::ranges::any_of(objects_, [&](const auto& one) {
             return text_of(one.second, "/metadata/uid") == owner.value("uid", "");
           });
         });
}

Object FakeApiServer::put(const Resource& resource, Object object) {
  const Key key = key_of(resource, object.namespace_name(), object.name());
  drop(key);
  object.json["metadata"]["uid"] = "uid-" + std::to_string(++uids_);
  if (!object.created()) object.json["metadata"]["creationTimestamp"] = net::format_time(wall_now());
  store(key, std::move(object.json));
  return {objects_.at(key)};
}

std::optional<Object> FakeApiServer::find(const Resource& resource, std::string_view namespace_name,
                                          std::string_view name) const {
  const auto there = objects_.find(key_of(resource, namespace_name, name));
  return there == objects_.end() ? std::nullopt : std::optional{Object{there->second}};
}

std::vector<Object> FakeApiServer::all(const Resource& resource) const {
  std::vector<Object> found;
  for (const auto& [key, object] : objects_) {
    if (is_within(key, {.api = resource.api_version(), .plural = std::string{resource.plural}}))
      found.push_back({object});
  }
  return found;
}

void FakeApiServer::change(const Resource& resource, std::string_view namespace_name, std::string_view name,
                           const std::function<void(Json& object)>& edit) {
  const Key key = key_of(resource, namespace_name, name);
  Json object = objects_.at(key);
  edit(object);
  store(key, std::move(object));
}

void FakeApiServer::erase(const Resource& resource, std::string_view namespace_name, std::string_view name) {
  drop(key_of(resource, namespace_name, name));
}

void FakeApiServer::make_ready(Json& pod) {
  pod["status"] = {{"phase", "Running"},
                   {"podIP", "10.0.0.7"},
                   {"conditions", Json::array({{{"type", "PodScheduled"}, {"status", "True"}},
                                               {{"type", "Ready"}, {"status", "True"}}})}};
}

std::size_t FakeApiServer::count(std::string_view method, std::string_view path_end) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [&](const Request& one) { return one.is(method, path_end); }));
}

FakeApiServer::Request FakeApiServer::last(std::string_view method, std::string_view path_end) const {
  const auto found = std::ranges::find_if(requests_.rbegin(), requests_.rend(),
                                          [&](const Request& one) { return one.is(method, path_end); });
  return found == requests_.rend() ? Request{} : *found;
}

}  // namespace skiff::kube::fakes
