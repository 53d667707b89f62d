#include "tests/support/fake_api_server.hpp"

#include <charconv>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "container/net/time.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::kube::fakes {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestBody = 3 * 1024 * 1024;

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

FakeApiServer::Answer found(const Json& object, unsigned status = 200) {
  return {.status = status, .body = object.dump()};
}

FakeApiServer::Answer conflict(std::string_view plural, std::string_view name, const std::string& why) {
  return FakeApiServer::refusal(
      409, "Conflict",
      "Operation cannot be fulfilled on " + std::string{plural} + " \"" + std::string{name} + "\": " + why);
}

std::string precondition(std::string_view what, const std::string& wanted, const std::string& actual) {
  return "Precondition failed: " + std::string{what} + " in precondition: " + wanted + ", " + std::string{what} +
         " in object meta: " + actual;
}

std::string event_line(std::string_view type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

Json expired(const std::string& next = {}) {
  Json status = Json::parse(FakeApiServer::refusal(410, "Expired", "too old resource version").body);
  if (!next.empty()) status["metadata"]["continue"] = next;
  return status;
}

}  // namespace

// --- requests -------------------------------------------------------------------------------------------------------

FakeApiServer::FakeApiServer(Executor executor)
    : server_{executor, [this](protocol::HttpExchange& exchange) { return answer(exchange); }}, changed_{executor} {
  served["networking.k8s.io/v1"];
  put(kNamespaces, Object::make(kNamespaces, {}, "default"));
}

FakeApiServer::~FakeApiServer() = default;

Access FakeApiServer::access() const {
  return {.origin = "a test", .server = {.tls = false, .host = "127.0.0.1", .port = port()}};
}

Task<> FakeApiServer::stop() {
  // They refer to what a test has on its frame.
  before = {};
  agent = {};
  return server_.server.stop();
}

FakeApiServer::Answer FakeApiServer::refusal(unsigned code, std::string_view reason, std::string_view message,
                                             Json causes) {
  Json status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
              {"status", "Failure"}, {"message", message}, {"reason", reason},
              {"code", code}};
  if (!causes.is_null()) status["details"]["causes"] = std::move(causes);
  return {.status = code, .body = status.dump()};
}

Task<> FakeApiServer::answer(protocol::HttpExchange& exchange) {
  const protocol::HttpRequest& head = exchange.request();
  Request request{
      .method = head.method, .path = head.target.path, .type = std::string{head.headers.get("Content-Type")}};
  for (const auto& [name, value] : head.target.query) request.query[name] = value;
  // Lists of an impersonated user's groups are repeated fields, as Kubernetes has it.
  for (const auto [name, value] : head.headers) {
    if (head.headers.count(name) > 1 && !name.starts_with("Impersonate-")) ADD_FAILURE() << name << " is sent twice";
  }
  auto body = co_await exchange.read_body(kLargestBody);
  if (!body) co_return;
  request.text = std::move(*body);
  request.body = Json::parse(request.text, nullptr, false);
  if (request.body.is_discarded()) request.body = nullptr;
  requests_.push_back(request);
  std::optional<Answer> instead = before ? before(request) : std::nullopt;
  if (instead && !instead->is_carried_out) co_return co_await send(exchange, std::move(*instead));

  std::optional<ResourcePath> place = resource_path_of(head.target.segments);
  // The API itself: which kinds a version of a group has.
  if (const auto api = request.path.find("/apis/"); !place && api == 0 && served.contains(request.path.substr(6))) {
    Json resources = Json::array();
    for (const std::string& plural : served[request.path.substr(6)]) resources.push_back({{"name", plural}});
    co_return co_await send(exchange, found({{"kind", "APIResourceList"}, {"resources", std::move(resources)}}));
  }
  if (!place || !is_served(*place)) {
    Answer unknown{.status = 404, .body = "404 page not found\n", .headers = {{"Content-Type", "text/plain"}}};
    co_return co_await send(exchange, std::move(unknown));
  }
  if (place->subresource.starts_with("proxy")) {
    request.path = place->subresource.substr(5);
    co_return co_await send(exchange, agent ? agent(request) : Answer{.body = "{}"});
  }
  if (request.is_watch()) co_return co_await watch(exchange, request, *place);
  Answer done = carry_out(request, *place);
  co_await send(exchange, instead ? std::move(*instead) : std::move(done));
}

Task<> FakeApiServer::send(protocol::HttpExchange& exchange, Answer answer) {
  Result<> sent;
  if (answer.is_cut) {
    protocol::HttpResponse head{.status = answer.status, .headers = std::move(answer.headers)};
    sent = co_await exchange.start(std::move(head), answer.body.size() + 1);
    if (sent) sent = co_await exchange.write(answer.body);
  } else {
    sent = co_await exchange.respond(
        {.status = answer.status, .headers = std::move(answer.headers), .body = std::move(answer.body)});
  }
  static_cast<void>(sent);  // the client may be gone
}

/// /api/v1/namespaces/NS/PLURAL/NAME/SUBRESOURCE, /apis/GROUP/VERSION/PLURAL, ...; the segments are decoded.
std::optional<FakeApiServer::ResourcePath> FakeApiServer::resource_path_of(const std::vector<std::string>& segments) {
  ResourcePath place;
  std::size_t at = 0;
  const auto next = [&] { return at < segments.size() ? segments[at++] : std::string{}; };
  const std::string root = next();
  if (root != "api" && root != "apis") return std::nullopt;
  place.api = next();
  if (root == "apis") place.api += "/" + next();
  place.plural = next();
  if (place.plural == "namespaces" && segments.size() > at + 1) {
    place.namespace_name = next();
    place.plural = next();
  }
  place.name = next();
  while (at < segments.size()) place.subresource += (place.subresource.empty() ? "" : "/") + next();
  if (place.plural.empty()) return std::nullopt;
  // "a:7070" of a proxy.
  if (place.subresource.starts_with("proxy")) place.name = place.name.substr(0, place.name.find(':'));
  return place;
}

bool FakeApiServer::is_served(const ResourcePath& place) const {
  if (place.api == "v1" || place.plural == kAccessReviews.plural) return true;
  const auto group = served.find(place.api);
  return group != served.end() && (group->second.empty() || group->second.contains(place.plural));
}

FakeApiServer::Answer FakeApiServer::carry_out(const Request& request, const ResourcePath& place) {
  if (place.plural == kAccessReviews.plural) return ask_access(request);
  if (request.method == "POST" && place.name.empty()) return create(request, place);
  if (request.method == "GET" && place.name.empty()) return list(request, place);
  const auto there = objects_.find(place.key());
  const bool is_apply = request.type == "application/apply-patch+yaml";
  if (there == objects_.end() && !is_apply) {
    return refusal(404, "NotFound", place.plural + " \"" + place.name + "\" not found");
  }
  if (request.method == "GET" && place.subresource == "log")
    return {.body = {}, .headers = {{"Content-Type", "text/plain"}}};
  if (request.method == "GET") return found(there->second);
  if (request.method == "PATCH") return patch(request, place);
  if (request.method == "DELETE" && !place.name.empty()) return remove(request, place);
  return refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

FakeApiServer::Answer FakeApiServer::ask_access(const Request& request) {
  Json review = request.body;
  review["status"] = {{"allowed", true}};
  return found(review, 201);
}

FakeApiServer::Answer FakeApiServer::create(const Request& request, const ResourcePath& place) {
  Json object = request.body;
  ResourcePath at = place;
  at.name = text_of(object, "/metadata/name");
  if (!at.namespace_name.empty() && !objects_.contains(key_of(kNamespaces, {}, at.namespace_name))) {
    return refusal(404, "NotFound", "namespaces \"" + at.namespace_name + "\" not found");
  }
  if (const auto there = objects_.find(at.key()); there != objects_.end()) {
    const bool is_leaving = !text_of(there->second, "/metadata/deletionTimestamp").empty();
    return refusal(
        409, "AlreadyExists",
        std::string{is_leaving ? "object is being deleted: " : ""} + at.plural + " \"" + at.name + "\" already exists");
  }
  Json& metadata = object["metadata"];
  if (!at.namespace_name.empty()) metadata["namespace"] = at.namespace_name;
  metadata["uid"] = "uid-" + std::to_string(++uids_);
  metadata["generation"] = 1;
  metadata["creationTimestamp"] = net::format_time(wall_now());
  if (const auto texts = object.find("stringData"); texts != object.end()) {
    for (const auto& [name, text] : texts->items())
      object["data"][name] = protocol::encode_base64(text.get<std::string>());
    object.erase("stringData");
  }
  if (request.is_dry_run()) return found(object, 201);
  store(at.key(), object);
  Answer made = found(objects_.at(at.key()), 201);
  if (at.plural == kPods.plural && runs_pods) {
    make_ready(object);
    store(at.key(), object);
  }
  if (!has_living_owner(object)) drop(at.key());
  return made;
}

FakeApiServer::Answer FakeApiServer::list(const Request& request, const ResourcePath& place) const {
  // "version:namespace name" of the last one.
  const std::string from = request.parameter("continue");
  const std::string after = from.substr(from.find(':') + 1);
  if (!from.empty() && number_in(from) < oldest_) {
    return {.status = 410, .body = expired(std::to_string(version_) + ":" + after).dump()};
  }
  const std::size_t limit = number_in(request.parameter("limit"));
  Json page{{"kind", "List"}, {"apiVersion", place.api}, {"items", Json::array()}};
  page["metadata"]["resourceVersion"] = std::to_string(version_);
  std::string last;
  for (const auto& [key, object] : objects_) {
    const std::string name = std::get<2>(key) + " " + std::get<3>(key);
    if (!is_within(key, place) || !is_selected(object, request) || (!from.empty() && name <= after)) continue;
    if (limit != 0 && page["items"].size() == limit) {
      page["metadata"]["continue"] = std::to_string(version_) + ":" + last;
      break;
    }
    Json item = object;
    item.erase("kind");  // as the real one: an item of a list does not say what it is
    item.erase("apiVersion");
    page["items"].push_back(std::move(item));
    last = name;
  }
  return found(page);
}

FakeApiServer::Answer FakeApiServer::patch(const Request& request, const ResourcePath& place) {
  const auto there = objects_.find(place.key());
  if (there == objects_.end()) return create({.method = "POST", .query = request.query, .body = request.body}, place);
  Json changed = there->second;
  if (request.type == "application/json-patch+json") {
    try {
      changed = changed.patch(request.body);
    } catch (const Json::exception&) {
      return refusal(422, "Invalid", "the server rejected our request due to an error in our request");
    }
  } else {
    const std::string version = text_of(request.body, "/metadata/resourceVersion");
    if (!version.empty() && version != text_of(changed, "/metadata/resourceVersion")) {
      return conflict(place.plural, place.name,
                      "the object has been modified; please apply your changes to the latest version and try again");
    }
    const std::string uid = text_of(request.body, "/metadata/uid");
    const std::string own = text_of(changed, "/metadata/uid");
    if (!uid.empty() && uid != own) return conflict(place.plural, place.name, precondition("UID", uid, own));
    changed.merge_patch(request.body);
  }
  if (request.is_dry_run()) return found(changed);
  if (changed.value("spec", Json{}) != there->second.value("spec", Json{})) {
    changed["metadata"]["generation"] = changed["metadata"].value("generation", 1) + 1;
  }
  store(place.key(), std::move(changed));
  return found(objects_.at(place.key()));
}

FakeApiServer::Answer FakeApiServer::remove(const Request& request, const ResourcePath& place) {
  const Json object = objects_.at(place.key());
  const std::string own = text_of(object, "/metadata/uid");
  const std::string uid = text_of(request.body, "/preconditions/uid");
  if (!uid.empty() && uid != own) return conflict(place.plural, place.name, precondition("UID", uid, own));
  const std::string now = text_of(object, "/metadata/resourceVersion");
  const std::string version = text_of(request.body, "/preconditions/resourceVersion");
  if (!version.empty() && version != now) {
    return conflict(place.plural, place.name, precondition("ResourceVersion", version, now));
  }
  const std::string propagation = text_of(request.body, "/propagationPolicy");
  if (propagation == "Foreground") drop_dependants(own, false);
  const bool is_forced = request.body.is_object() && request.body.value("gracePeriodSeconds", -1) == 0;
  const bool is_pod = place.plural == kPods.plural;
  const bool has_finalizer = !object["metadata"].value("finalizers", Json::array()).empty();
  if (has_finalizer || (is_pod && pods_linger && !is_forced)) {
    Json leaving = object;
    leaving["metadata"]["deletionTimestamp"] = net::format_time(wall_now());
    store(place.key(), leaving);
    return found(objects_.at(place.key()));
  }
  if (propagation == "Orphan") drop_dependants(own, true);
  drop(place.key());
  return is_pod ? found(object) : found({{"kind", "Status"}, {"status", "Success"}});
}

// --- watches --------------------------------------------------------------------------------------------------------

Task<> FakeApiServer::watch(protocol::HttpExchange& exchange, const Request& request, const ResourcePath& place) {
  std::uint64_t told = number_in(request.parameter("resourceVersion"));
  const bool is_too_old = told != 0 && told < oldest_;
  if (is_too_old && is_expiry_a_status_) {
    co_return co_await send(exchange, {.status = 410, .body = expired().dump()});
  }
  const unsigned ends = ends_;
  auto sent = co_await exchange.start({.headers = {{"Content-Type", "application/json"}}});
  if (is_too_old) {
    if (sent) sent = co_await exchange.write(event_line("ERROR", expired()));
    if (sent) sent = co_await exchange.finish();
    co_return;
  }
  ++open_watches_;
  // Also when it is cancelled.
  const std::unique_ptr<std::size_t, void (*)(std::size_t*)> open{&open_watches_, [](std::size_t* count) { --*count; }};
  std::string text;
  if (told == 0) {
    for (const auto& [key, object] : objects_) {
      if (is_within(key, place) && is_selected(object, request)) text += event_line("ADDED", object);
    }
    const Json end{
        {"kind", "Bookmark"},
        {"metadata",
         {{"resourceVersion", std::to_string(version_)}, {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}};
    text += event_line("BOOKMARK", end);
    told = version_;
  }
  for (;;) {
    text += events_since(told, request, place);
    told = version_;
    if (sent && !text.empty()) sent = co_await exchange.write(text);
    text.clear();
    if (!sent) co_return;
    if (ends != ends_) break;
    co_await changed_.wait();
  }
  if (ends_in_good_order_) sent = co_await exchange.finish();
}

std::string FakeApiServer::events_since(std::uint64_t version, const Request& request,
                                        const ResourcePath& place) const {
  std::string text;
  for (const Change& change : history_) {
    if (change.version <= version || !is_within(change.key, place)) continue;
    // To a selector an object comes and goes with its labels.
    const bool was = !change.before.is_null() && is_selected(change.before, request);
    const bool is = !change.after.is_null() && is_selected(change.after, request);
    if (is) text += event_line(was ? "MODIFIED" : "ADDED", change.after);
    if (!is && was) {
      Json last = change.before;
      last["metadata"]["resourceVersion"] = std::to_string(change.version);
      text += event_line("DELETED", last);
    }
  }
  return text;
}

void FakeApiServer::end_watches(bool in_good_order) {
  ++ends_;
  ends_in_good_order_ = in_good_order;
  changed_.notify_all();
}

void FakeApiServer::forget_history(bool is_told_by_status) {
  oldest_ = ++version_;
  is_expiry_a_status_ = is_told_by_status;
  history_.clear();
}

}  // namespace skiff::kube::fakes
