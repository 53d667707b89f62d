#include "container/cluster/pod/circumstances.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "container/kube/objects/pod.hpp"
#include "container/kube/pod_log.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Name of the container in which skiffd runs, in Pods that skiff created.
constexpr std::string_view kContainer = "sandbox";

json list_at(const kube::Object& object, kube::Object::Path path) {
  const json* found = object.find(path);
  return found != nullptr && found->is_array() ? *found : json::array();
}

std::string text_in(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

json conditions_of(const kube::Object& pod) {
  json conditions = json::array();
  for (const json& one : list_at(pod, {"status", "conditions"})) {
    conditions.push_back({{"type", text_in(one, "type")},
                          {"status", text_in(one, "status")},
                          {"since", text_in(one, "lastTransitionTime")},
                          {"reason", text_in(one, "reason")},
                          {"message", text_in(one, "message")}});
  }
  return conditions;
}

json containers_of(const kube::Object& pod) {
  json containers = json::array();
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& one : list_at(pod, {"status", list})) {
      json container{{"name", text_in(one, "name")}, {"state", ""}, {"restarts", 0}, {"reason", ""}};
      if (!one.is_object()) continue;
      container["restarts"] = one.value("restartCount", json(0));
      const auto state = one.find("state");
      if (state != one.end() && state->is_object() && !state->empty()) {
        container["state"] = state->begin().key();
        container["reason"] = text_in(state->begin().value(), "reason");
      }
      containers.push_back(std::move(container));
    }
  }
  return containers;
}

json volumes_of(const kube::Object& pod) {
  json volumes = json::array();
  for (const json& one : list_at(pod, {"spec", "volumes"})) {
    const std::string name = text_in(one, "name");
    std::string kind;
    for (const auto& [key, value] : one.items()) {
      if (key == "name") continue;
      kind = key;
      for (const char* of : {"claimName", "secretName", "name"}) {
        if (const std::string which = text_in(value, of); !which.empty()) kind += " " + which;
      }
    }
    std::string places;
    for (const json& container : list_at(pod, {"spec", "containers"})) {
      const auto mounts = container.is_object() ? container.find("volumeMounts") : container.end();
      if (mounts == container.end() || !mounts->is_array()) continue;
      for (const json& mount : *mounts) {
        if (text_in(mount, "name") == name) places += (places.empty() ? "" : ", ") + text_in(mount, "mountPath");
      }
    }
    volumes.push_back({{"name", name}, {"kind", std::move(kind)}, {"mounted_at", std::move(places)}});
  }
  return volumes;
}

json events_in(const std::vector<kube::Object>& objects) {
  std::vector<json> events;
  for (const kube::Object& event : objects) {
    std::string last = event.text({"lastTimestamp"});
    if (last.empty()) last = event.text({"eventTime"});
    if (last.empty()) last = event.text({"metadata", "creationTimestamp"});
    events.push_back({{"type", event.text({"type"})},
                      {"reason", event.text({"reason"})},
                      {"message", event.text({"message"})},
                      {"last_at", std::move(last)},
                      {"count", event.integer({"count"}).value_or(1)}});
  }
  std::ranges::sort(events, {},
                    [](const json& event) { return std::pair{text_in(event, "last_at"), text_in(event, "message")}; });
  return events;
}

}  // namespace

Task<json> circumstances_of(kube::Client* client, std::string namespace_name, std::string pod) {
  auto found = co_await client->get(kube::kPods, namespace_name, pod);
  // A stopped sandbox has no Pod.
  if (!found && found.error().not_found()) co_return json::object();
  if (!found) co_return json{{"error", found.error().error.message}};
  json told{{"conditions", conditions_of(*found)},
            {"containers", containers_of(*found)},
            {"volumes", volumes_of(*found)},
            {"events", json::array()}};
  kube::ListOptions about{.field_selector = "involvedObject.uid=" + found->uid()};
  auto events = co_await client->list(kube::kEvents, std::move(namespace_name), std::move(about));
  if (events) {
    told["events"] = events_in(events->items);
  } else {
    told["events_error"] = events.error().error.message;
  }
  co_return told;
}

Task<Result<std::string>> agent_log(kube::Client* client, std::string namespace_name, std::string pod,
                                    AgentLogOptions options) {
  SKIFF_CO_TRY(auto found, co_await client->get(kube::kPods, namespace_name, pod));
  std::string container;
  for (const json& one : list_at(found, {"spec", "containers"})) {
    const std::string name = text_in(one, "name");
    if (container.empty() || name == kContainer) container = name;
  }
  kube::LogOptions wanted{.container = std::move(container),
                          .previous = options.previous,
                          .timestamps = options.timestamps,
                          .tail_lines = options.tail,
                          .since_seconds = options.since_seconds};
  SKIFF_CO_TRY(auto log, co_await kube::read_log(client, std::move(namespace_name), std::move(pod), std::move(wanted)));
  co_return std::move(log);
}

}  // namespace skiff::container
