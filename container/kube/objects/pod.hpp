#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/kube/objects/object.hpp"

/// Fields of the status of a Pod or Service, from their JSON.
namespace skiff::kube {

struct ContainerState {
  enum class Kind : std::uint8_t { waiting, running, terminated };
  std::string name;
  bool is_init = false;
  bool ready = false;
  std::int64_t restarts = 0;
  Kind kind = Kind::waiting;
  std::string reason;   ///< while waiting: ImagePullBackOff; when terminated: OOMKilled, Error, Completed
  std::string message;  ///< the kubelet's explanation
  std::optional<std::int64_t> exit_code;
  std::string finished_at;  ///< RFC 3339
  /// Reason for the end of the previous run, which explains a CrashLoopBackOff.
  std::string last_reason;
  std::optional<std::int64_t> last_exit_code;
};

/// Init containers first, in the order of the status.
[[nodiscard]] std::vector<ContainerState> container_states(const Object& pod);

/// Pending, Running, Succeeded, Failed, Unknown.
[[nodiscard]] std::string pod_phase(const Object& pod);
/// True if the Pod has the condition Ready and was not deleted.
[[nodiscard]] bool is_pod_ready(const Object& pod);
[[nodiscard]] std::string pod_ip(const Object& pod);
/// The number of the containers' port with that name, if there is one.
[[nodiscard]] std::optional<std::uint16_t> container_port(const Object& pod, std::string_view port_name);

/// "None" for a headless Service; empty while it has no address.
[[nodiscard]] std::string cluster_ip(const Object& service);
/// Addresses or names that the cloud gave to a LoadBalancer.
[[nodiscard]] std::vector<std::string> load_balancer_addresses(const Object& service);
/// True if the Service has addresses of the family of this address, and so listens at it for a node port. A Service
/// that names no families counts as one of both.
[[nodiscard]] bool has_family_of(const Object& service, std::string_view address);
/// The node port of a Service's port, if it has one.
[[nodiscard]] std::optional<std::uint16_t> node_port(const Object& service, std::string_view port_name);

}  // namespace skiff::kube
