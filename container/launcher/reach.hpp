#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/object.hpp"
#include "container/kube/port_forward.hpp"
#include "container/launcher/cluster.hpp"
#include "container/launcher/endpoint.hpp"

namespace skiff::container {

/// By which way agents are reached, in the order in which they are tried.
enum class Way : std::uint8_t {
  url,           ///< where the user says
  in_cluster,    ///< the Pod's address, from a Pod
  service,       ///< the address of a LoadBalancer, or a node's and a NodePort
  gateway,       ///< agent-sandbox's router, with its X-Sandbox-* headers
  port_forward,  ///< pods/portforward of the API server
  proxy,         ///< pods/proxy of the API server
};
[[nodiscard]] std::string_view way_word(Way way) noexcept;
[[nodiscard]] std::optional<Way> find_way(std::string_view word) noexcept;

struct ReachOptions {
  std::string url = {};            ///< of the agent itself: http://HOST:PORT
  std::string gateway_url = {};    ///< of a router
  std::string gateway = {};        ///< [NAMESPACE/]NAME of the Gateway before a router, when there is no URL
  std::string gateway_token = {};  ///< what the router wants to see; empty: nothing
  std::optional<Way> only = {};    ///< no other way than this
  bool in_cluster = false;         ///< we run in a Pod of that very cluster: its Pods' addresses are good here
};

/// One sandbox as the ways to it see it.
struct ReachTarget {
  std::string sandbox = {};  ///< its name, for messages
  std::string namespace_name = {};
  kube::Object pod = {};
  std::optional<kube::Object> service = {};
  std::string gateway_id = {};  ///< X-Sandbox-ID; empty: no router knows it
};

/// Finds the way to agents, and holds the port-forwards that are on it. Reactor thread only.
class Reach {
 public:
  Reach(Cluster* cluster, ReachOptions options);
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  /// Tries the ways until the agent answers by one of them. The endpoint's url says which. Its dialer must not outlive
  /// this object. `sandbox_not_running` with what each way said when none works.
  [[nodiscard]] Task<Result<Endpoint>> find(ReachTarget target, std::function<Result<std::string>()> token);
  /// A connection to a port of its Pod.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(ReachTarget target, std::uint16_t port);

  /// Ends the port-forwards; call it before the object goes away.
  [[nodiscard]] Task<> stop();

 private:
  [[nodiscard]] Task<Result<Endpoint>> endpoint_by(Way way, const ReachTarget* target);
  [[nodiscard]] Task<Result<Endpoint>> by_gateway(const ReachTarget* target);
  [[nodiscard]] Result<Endpoint> by_url(const std::string& url, std::string_view flag) const;
  [[nodiscard]] Endpoint by_address(std::string host, std::uint16_t port) const;
  [[nodiscard]] kube::PortForward& forward(const ReachTarget& target, std::uint16_t port);

  Cluster* cluster_;
  const ReachOptions options_;
  std::map<std::pair<std::string, std::uint16_t>, std::unique_ptr<kube::PortForward>> forwards_;
};

}  // namespace skiff::container
