#include "container/kube/client.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/json/schema.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

constexpr protocol::JsonLimits kAnswerLimits{.max_bytes = 256 * 1024 * 1024, .max_depth = 256};
/// Limit for a list that expires again and again because a page takes longer than the server keeps a state (5 min).
constexpr int kMostExpirations = 3;
/// With 200 objects each, more than a cluster can have: a server whose list never ends must not fill our memory.
constexpr int kMostPages = 10'000;

/// "read pods a/b".
std::string describe(std::string_view verb, const Resource& resource, std::string_view namespace_name,
                     std::string_view name) {
  std::string text{verb};
  text += ' ';
  text += resource.plural;
  if (!name.empty()) {
    text += ' ';
    if (resource.namespaced && !namespace_name.empty()) (text += namespace_name) += '/';
    text += name;
  } else if (resource.namespaced) {
    text += namespace_name.empty() ? " of all namespaces" : " of " + std::string{namespace_name};
  }
  return text;
}

Outcome<Json> parse(std::string_view body, std::string_view what) {
  auto json = protocol::parse_json(body, kAnswerLimits);
  if (!json) {
    return failed({Errc::invalid_request, std::string{what} + ": the API server's answer: " + json.error().message});
  }
  if (!json->is_object()) {
    return failed({Errc::invalid_request, std::string{what} + ": the API server's answer is not a JSON object"});
  }
  return std::move(*json);
}

std::string_view flag(bool value) {
  return value ? "true" : "";
}

std::string query_of(const WriteOptions& options) {
  return Query{}
      .add("dryRun", options.dry_run ? "All" : "")
      .add("fieldValidation", options.strict ? "Strict" : "")
      .add("fieldManager", options.field_manager)
      .text();
}

std::string delete_options(const RemoveOptions& options) {
  Json body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", options.propagation}};
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  return body.dump();
}

/// Without a name the path means all objects of the kind, and a DELETE would remove all of them.
std::unexpected<Failure> nameless(std::string_view verb, const Resource& resource, std::string_view namespace_name) {
  return failed(
      {Errc::invalid_field, describe(verb, resource, namespace_name, {}) + ": which one? The name is empty", "name"});
}

/// True if `stored` contains everything in `sent`: the server only adds fields.
bool holds(const Json& stored, const Json& sent) {
  if (sent.is_object() && stored.is_object()) {
    return std::ranges::all_of(sent.items(), [&](const auto& entry) {
      const auto found = stored.find(entry.key());
      return found == stored.end() ? entry.value().empty() : holds(*found, entry.value());
    });
  }
  if (sent.is_array() && stored.is_array()) return std::ranges::equal(stored, sent, holds);
  return stored == sent;
}

/// Writes JSON; invalid UTF-8 is replaced, because dump() would throw.
std::string write(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Client::Client(std::unique_ptr<Transport> transport) : transport_{std::move(transport)} {}

Task<Outcome<Object>> Client::send_object(Call call) {
  const std::string what = call.what;
  SKIFF_CO_TRY(auto reply, co_await transport_->send(std::move(call)));
  SKIFF_CO_TRY(auto json, parse(reply.body, what));
  co_return Object{std::move(json)};
}

Task<Outcome<ServerVersion>> Client::version() {
  Call call{.target = "/version", .what = "ask for the version"};
  SKIFF_CO_TRY(auto answer, co_await send_object(std::move(call)));
  co_return ServerVersion{.git_version = answer.text({"gitVersion"}), .platform = answer.text({"platform"})};
}

Task<Outcome<bool>> Client::serves(Resource resource) {
  const std::string group = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version();
  Call call{.target = group, .what = "ask what " + resource.api_version() + " has"};
  auto answer = co_await send_object(std::move(call));
  if (!answer && answer.error().not_found()) co_return false;
  if (!answer) co_return std::unexpected{std::move(answer.error())};
  const Json* resources = answer->find({"resources"});
  if (resources != nullptr && resources->is_array()) {
    for (const Json& entry : *resources) {
      const auto name = entry.is_object() ? entry.find("name") : entry.end();
      if (name != entry.end() && *name == resource.plural) co_return true;
    }
  }
  co_return false;
}

Task<Outcome<bool>> Client::allowed(Permission permission) {
  Json attributes{{"verb", permission.verb}, {"group", permission.group}, {"resource", permission.resource}};
  if (!permission.subresource.empty()) attributes["subresource"] = permission.subresource;
  if (!permission.namespace_name.empty()) attributes["namespace"] = permission.namespace_name;
  if (!permission.name.empty()) attributes["name"] = permission.name;
  const Json review{{"apiVersion", kAccessReviews.api_version()},
                    {"kind", kAccessReviews.kind},
                    {"spec", {{"resourceAttributes", std::move(attributes)}}}};
  // The request stores nothing, so it may be repeated.
  Call call{.method = "POST",
            .target = collection_path(kAccessReviews, {}),
            .what = "ask whether " + permission.verb + " " + permission.resource + " is allowed",
            .content_type = "application/json",
            .body = write(review)};
  SKIFF_CO_TRY(auto answer, co_await send_object(std::move(call)));
  co_return answer.is_true({"status", "allowed"});
}

Task<Outcome<Object>> Client::review_token(std::string token, std::string audience) {
  const Json review{{"apiVersion", kTokenReviews.api_version()},
                    {"kind", kTokenReviews.kind},
                    {"spec", {{"token", std::move(token)}, {"audiences", Json::array({std::move(audience)})}}}};
  // The request stores nothing, so it may be repeated.
  Call call{.method = "POST",
            .target = collection_path(kTokenReviews, {}),
            .what = "ask whose token it is",
            .content_type = "application/json",
            .body = write(review)};
  co_return co_await send_object(std::move(call));
}

std::string Client::place_of(const Resource& resource, const std::string& namespace_name) const {
  return namespace_name.empty() && resource.namespaced ? default_namespace() : namespace_name;
}

Task<Outcome<Object>> Client::get(Resource resource, std::string namespace_name, std::string name) {
  namespace_name = place_of(resource, namespace_name);
  if (name.empty()) co_return nameless("read", resource, namespace_name);
  Call call{.target = object_path(resource, namespace_name, name),
            .what = describe("read", resource, namespace_name, name)};
  co_return co_await send_object(std::move(call));
}

Task<Outcome<Object>> Client::create(Resource resource, Object object, WriteOptions options) {
  const std::string namespace_name = place_of(resource, object.namespace_name());
  Call call{.method = "POST",
            .target = collection_path(resource, namespace_name) + query_of(options),
            .what = describe("create", resource, namespace_name, object.name()),
            .content_type = "application/json",
            .body = write(object.json),
            .repeatable = options.dry_run || !object.name().empty()};
  auto made = co_await send_object(std::move(call));
  const bool is_there = !made && made.error().already_exists() && made.error().may_have_happened;
  if (!is_there || options.dry_run) co_return made;
  auto found = co_await get(resource, namespace_name, object.name());
  if (found && holds(found->json, object.json)) co_return found;
  co_return made;
}

Task<Outcome<Object>> Client::apply(Resource resource, Object object, ApplyOptions options) {
  const std::string namespace_name = place_of(resource, object.namespace_name());
  if (object.name().empty()) co_return nameless("apply", resource, namespace_name);
  const std::string query = Query{}
                                .add("dryRun", options.dry_run ? "All" : "")
                                .add("fieldManager", options.field_manager)
                                .add("force", flag(options.force))
                                .text();
  // JSON is valid YAML; the type "apply-patch+json" is refused.
  Call call{.method = "PATCH",
            .target = object_path(resource, namespace_name, object.name()) + query,
            .what = describe("apply", resource, namespace_name, object.name()),
            .content_type = "application/apply-patch+yaml",
            .body = write(object.json)};
  co_return co_await send_object(std::move(call));
}

Task<Outcome<Object>> Client::patch(Resource resource, std::string namespace_name, std::string name, PatchKind kind,
                                    nlohmann::json patch, std::string subresource, WriteOptions options) {
  namespace_name = place_of(resource, namespace_name);
  if (name.empty()) co_return nameless("patch", resource, namespace_name);
  const bool conditional = kind == PatchKind::json || patch.contains(Json::json_pointer{"/metadata/resourceVersion"});
  Call call{.method = "PATCH",
            .target = object_path(resource, namespace_name, name, subresource) + query_of(options),
            .what = describe("patch", resource, namespace_name, name),
            .content_type = kind == PatchKind::json ? "application/json-patch+json" : "application/merge-patch+json",
            .body = write(patch),
            .repeatable = !conditional};
  co_return co_await send_object(std::move(call));
}

Task<Outcome<Object>> Client::remove(Resource resource, std::string namespace_name, std::string name,
                                     RemoveOptions options) {
  namespace_name = place_of(resource, namespace_name);
  if (name.empty()) co_return nameless("delete", resource, namespace_name);
  Call call{.method = "DELETE",
            .target = object_path(resource, namespace_name, name),
            .what = describe("delete", resource, namespace_name, name),
            .content_type = "application/json",
            .body = delete_options(options),
            .metadata_only = true};
  co_return co_await send_object(std::move(call));
}

Task<Outcome<Page>> Client::list_page(Resource resource, std::string namespace_name, ListOptions options,
                                      std::string continue_token) {
  const std::string query = Query{}
                                .add("limit", std::to_string(options.page))
                                .add("labelSelector", options.label_selector)
                                .add("fieldSelector", options.field_selector)
                                .add("continue", continue_token)
                                .text();
  Call call{.target = collection_path(resource, namespace_name) + query,
            .what = describe("list", resource, namespace_name, {})};
  SKIFF_CO_TRY(auto answer, co_await send_object(std::move(call)));
  Page page{.items = {},
            .resource_version = answer.resource_version(),
            .continue_token = answer.text({"metadata", "continue"})};
  if (const auto items = answer.json.find("items"); items != answer.json.end() && items->is_array()) {
    page.items.reserve(items->size());
    for (Json& item : *items) {
      if (!item.is_object()) continue;
      // The items of a list have no apiVersion and kind.
      item["apiVersion"] = resource.api_version();
      item["kind"] = resource.kind;
      // managedFields is half of most objects, and only the server needs it.
      if (const auto metadata = item.find("metadata"); metadata != item.end() && metadata->is_object()) {
        metadata->erase("managedFields");
      }
      page.items.push_back({std::move(item)});
    }
  }
  co_return page;
}

Task<Outcome<std::string>> Client::each_page(Resource resource, std::string namespace_name, ListOptions options,
                                             std::function<void(std::vector<Object> items, bool is_first)> take) {
  std::string next;
  int expirations = 0;
  int pages = 0;
  for (bool is_first = true;;) {
    auto page = co_await list_page(resource, namespace_name, options, next);
    if (!page) {
      const Failure& failure = page.error();
      if (!failure.expired() || ++expirations > kMostExpirations) co_return std::unexpected{std::move(page.error())};
      next = options.one_moment ? std::string{} : failure.status.continue_token;
      is_first = next.empty();
      continue;
    }
    take(std::move(page->items), is_first);
    is_first = false;
    const std::string before = std::exchange(next, std::move(page->continue_token));
    if (next.empty()) co_return std::move(page->resource_version);
    if (next == before || ++pages > kMostPages) {
      co_return failed({Errc::invalid_request,
                        describe("list", resource, namespace_name, {}) + ": the API server's list has no end"});
    }
  }
}

Task<Outcome<Page>> Client::list(Resource resource, std::string namespace_name, ListOptions options) {
  Page all;
  auto collect = [&all](std::vector<Object> items, bool is_first) {
    if (is_first) all.items.clear();
    std::ranges::move(items, std::back_inserter(all.items));
  };
  SKIFF_CO_TRY(all.resource_version,
               co_await each_page(std::move(resource), std::move(namespace_name), std::move(options), collect));
  co_return all;
}

}  // namespace skiff::kube
