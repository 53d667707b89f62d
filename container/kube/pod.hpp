#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/kube/object.hpp"

/// What a Pod's status and a Service's tell, read out of their JSON.
namespace skiff::kube {

struct ContainerState {
  enum class Kind : std::uint8_t { waiting, running, terminated };
  std::string name;
  bool is_init = false;
  bool ready = false;
  std::int64_t restarts = 0;
  Kind kind = Kind::waiting;
  std::string reason;   ///< of waiting: ImagePullBackOff; of terminated: OOMKilled, Error, Completed
  std::string message;  ///< what the kubelet says about it
  std::optional<std::int64_t> exit_code;
  std::string finished_at;  ///< RFC 3339
  /// Of the run before this one: why it is in CrashLoopBackOff.
  std::string last_reason;
  std::optional<std::int64_t> last_exit_code;
};

/// Init containers first, in the order of the status.
[[nodiscard]] std::vector<ContainerState> container_states(const Object& pod);

/// Pending, Running, Succeeded, Failed, Unknown.
[[nodiscard]] std::string pod_phase(const Object& pod);
/// Its condition Ready, and nobody has deleted it.
[[nodiscard]] bool is_pod_ready(const Object& pod);
[[nodiscard]] std::string pod_ip(const Object& pod);
/// The port that one of its containers has under that name; nothing if none has.
[[nodiscard]] std::optional<std::uint16_t> container_port(const Object& pod, std::string_view port_name);

/// "None" for a headless one, empty while it has none.
[[nodiscard]] std::string cluster_ip(const Object& service);
/// Addresses (or names) that a cloud gave to a LoadBalancer.
[[nodiscard]] std::vector<std::string> load_balancer_addresses(const Object& service);
/// The node port of a service port; nothing if it has none.
[[nodiscard]] std::optional<std::uint16_t> node_port(const Object& service, std::string_view port_name);

}  // namespace skiff::kube
