#include "container/kube/objects/pod.hpp"

#include <algorithm>
#include <utility>

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

const Json& list_at(const Object& object, Object::Path path) {
  static const Json nothing = Json::array();
  const Json* found = object.find(path);
  return found != nullptr && found->is_array() ? *found : nothing;
}

ContainerState read_state(Json status, bool is_init) {
  const Object entry{std::move(status)};
  ContainerState state{.name = entry.text({"name"}),
                       .is_init = is_init,
                       .ready = entry.is_true({"ready"}),
                       .restarts = entry.integer({"restartCount"}).value_or(0),
                       .kind = ContainerState::Kind::waiting,
                       .reason = {},
                       .message = {},
                       .exit_code = entry.integer({"state", "terminated", "exitCode"}),
                       .finished_at = entry.text({"state", "terminated", "finishedAt"}),
                       .last_reason = entry.text({"lastState", "terminated", "reason"}),
                       .last_exit_code = entry.integer({"lastState", "terminated", "exitCode"})};
  const char* key = "waiting";
  if (entry.find({"state", "running"}) != nullptr) {
    state.kind = ContainerState::Kind::running;
    key = "running";
  } else if (entry.find({"state", "terminated"}) != nullptr) {
    state.kind = ContainerState::Kind::terminated;
    key = "terminated";
  }
  state.reason = entry.text({"state", key, "reason"});
  state.message = entry.text({"state", key, "message"});
  return state;
}

/// The entry's port number in `field` if it is valid and the entry has this name.
std::optional<std::uint16_t> port_called(const Object& entry, std::string_view name, const char* field) {
  const auto number = entry.integer({field});
  if (entry.text({"name"}) != name || !number || *number <= 0 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

}  // namespace

std::vector<ContainerState> container_states(const Object& pod) {
  std::vector<ContainerState> states;
  for (const Json& status : list_at(pod, {"status", "initContainerStatuses"})) {
    states.push_back(read_state(status, true));
  }
  for (const Json& status : list_at(pod, {"status", "containerStatuses"})) states.push_back(read_state(status, false));
  return states;
}

std::string pod_phase(const Object& pod) {
  return pod.text({"status", "phase"});
}

bool is_pod_ready(const Object& pod) {
  const auto ready = pod.condition("Ready");
  return ready && ready->status == "True" && !pod.is_being_deleted();
}

std::string pod_ip(const Object& pod) {
  return pod.text({"status", "podIP"});
}

std::optional<std::uint16_t> container_port(const Object& pod, std::string_view port_name) {
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    const auto ports = container.is_object() ? container.find("ports") : container.end();
    if (ports == container.end() || !ports->is_array()) continue;
    for (const Json& entry : *ports) {
      if (const auto port = port_called(Object{entry}, port_name, "containerPort")) return port;
    }
  }
  return std::nullopt;
}

std::string cluster_ip(const Object& service) {
  return service.text({"spec", "clusterIP"});
}

std::vector<std::string> load_balancer_addresses(const Object& service) {
  std::vector<std::string> addresses;
  for (const Json& entry : list_at(service, {"status", "loadBalancer", "ingress"})) {
    const Object ingress{entry};
    for (const char* key : {"ip", "hostname"}) {
      if (std::string address = ingress.text({key}); !address.empty()) addresses.push_back(std::move(address));
    }
  }
  return addresses;
}

bool has_family_of(const Object& service, std::string_view address) {
  const Json* families = service.find({"spec", "ipFamilies"});
  if (families == nullptr || !families->is_array()) return true;
  return std::ranges::find(*families, Json(address.contains(':') ? "IPv6" : "IPv4")) != families->end();
}

std::optional<std::uint16_t> node_port(const Object& service, std::string_view port_name) {
  for (const Json& entry : list_at(service, {"spec", "ports"})) {
    if (const auto port = port_called(Object{entry}, port_name, "nodePort")) return port;
  }
  return std::nullopt;
}

}  // namespace skiff::kube
