#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/endpoint.hpp"
#include "container/cluster/cluster.hpp"
#include "container/kube/auth/url.hpp"
#include "container/kube/object.hpp"
#include "container/kube/port_forward.hpp"

namespace skiff::container {

/// By which way agents are reached, in the order in which they are tried.
enum class Way : std::uint8_t {
  url,           ///< where the user says
  in_cluster,    ///< the Pod's address, from a Pod
  gateway,       ///< agent-sandbox's router, with its X-Sandbox-* headers
  port_forward,  ///< pods/portforward of the API server
  proxy,         ///< pods/proxy of the API server
  service,       ///< the address of a LoadBalancer, or a node's and a NodePort: in clear text, so only when it is named
};
[[nodiscard]] std::string_view way_word(Way way) noexcept;
[[nodiscard]] std::optional<Way> find_way(std::string_view word) noexcept;

struct ReachOptions {
  std::string url = {};                    ///< of the agent itself: http://HOST:PORT
  std::string gateway_url = {};            ///< of a router
  std::string gateway = {};                ///< [NAMESPACE/]NAME of the Gateway before a router, when there is no URL
  std::string gateway_token = {};          ///< bearer token for the router; empty: none
  std::string certificate_authority = {};  ///< PEM file: trust these at an https URL, not the system's store
  std::string server_name = {};            ///< what the certificate there is for; empty: the URL's host
  std::optional<Way> only = {};            ///< no other way than this
  bool in_cluster = false;                 ///< we run in a Pod of that very cluster: its Pods' addresses are good here
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

  /// Tries the ways until the agent answers by one of them, and all of them again, for as long as somebody waits
  /// (Transport::wait_until), where that may help. The endpoint's url says which. Its dialer must not outlive this
  /// object. `sandbox_not_running` with what each way said when none works.
  [[nodiscard]] Task<Result<Endpoint>> find(ReachTarget target, std::function<Result<std::string>()> token);
  /// A connection to a port of its Pod.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(ReachTarget target, std::uint16_t port);

  /// Port-forwards that are held: those that are in use, and those of the sandbox that was looked at last.
  [[nodiscard]] std::size_t forwards() const noexcept { return forwards_.size(); }

  /// Ends the port-forwards; call it before the object goes away.
  [[nodiscard]] Task<> stop();

 private:
  /// What became of all ways.
  struct Trial {
    std::optional<Endpoint> found = {};
    std::string said = {};
    bool may_pass = false;  ///< what one of them failed by
  };
  [[nodiscard]] Task<Trial> try_ways(const ReachTarget* target);
  [[nodiscard]] bool is_wanted(Way way) const;
  [[nodiscard]] Task<Result<Endpoint>> endpoint_by(Way way, const ReachTarget* target);
  [[nodiscard]] Task<Result<Endpoint>> by_gateway(const ReachTarget* target);
  [[nodiscard]] Task<Result<Endpoint>> by_service(const ReachTarget* target);
  [[nodiscard]] Result<Endpoint> by_url(const kube::Url& url) const;
  [[nodiscard]] std::chrono::milliseconds tunnel_patience() const;
  [[nodiscard]] std::chrono::milliseconds answer_patience() const;
  [[nodiscard]] Endpoint by_address(std::string host, std::uint16_t port) const;
  [[nodiscard]] std::shared_ptr<kube::PortForward> forward(const ReachTarget& target, std::uint16_t port);

  Cluster* cluster_;
  const ReachOptions options_;
  std::map<std::pair<std::string, std::uint16_t>, std::shared_ptr<kube::PortForward>> forwards_;
};

}  // namespace skiff::container
