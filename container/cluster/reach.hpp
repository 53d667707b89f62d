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

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/endpoint.hpp"
#include "container/cluster/cluster.hpp"
#include "container/kube/objects/object.hpp"
#include "container/kube/port_forward.hpp"
#include "container/net/url.hpp"

namespace skiff::container {

/// The ways to reach agents, in the order in which they are tried.
enum class Way : std::uint8_t {
  url,           ///< the address that the user gives
  in_cluster,    ///< the Pod's address, from a Pod
  gateway,       ///< agent-sandbox's router, with its X-Sandbox-* headers
  port_forward,  ///< pods/portforward of the API server
  proxy,         ///< pods/proxy of the API server
  service,       ///< the address of a LoadBalancer, or a node and a NodePort: in clear text, so only on request
};
[[nodiscard]] std::string_view way_word(Way way) noexcept;
[[nodiscard]] std::optional<Way> find_way(std::string_view word) noexcept;

struct ReachOptions {
  std::string url = {};            ///< address of the agent itself: http://HOST:PORT
  std::string gateway_url = {};    ///< address of a router
  std::string gateway = {};        ///< [NAMESPACE/]NAME of the Gateway before a router, if there is no URL
  std::string gateway_token = {};  ///< bearer token for the router; empty: none
  std::string certificate_authority =
      {};                        ///< PEM file of the authorities for an https URL, instead of the system's store
  std::string server_name = {};  ///< name in that certificate; empty: the URL's host
  std::optional<Way> only = {};  ///< use only this way
  bool in_cluster = false;       ///< this process runs in a Pod of that cluster, so its Pods' addresses can be used
};

/// The data about one sandbox that the ways need.
struct ReachTarget {
  std::string sandbox = {};  ///< name of the sandbox, for messages
  std::string namespace_name = {};
  kube::Object pod = {};
  std::optional<kube::Object> service = {};
  std::string gateway_id = {};  ///< X-Sandbox-ID; empty: routers do not know the sandbox
};

/// Finds ways to agents, and owns the port-forwards that they use. Reactor thread only.
class Reach {
 public:
  Reach(Cluster* cluster, ReachOptions options);
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  /// Tries all ways until the agent answers by one of them. Where that may help, it repeats this until the end of the
  /// wait (Transport::wait_until). The endpoint's url says which way works. Its dialer must not outlive this object. If
  /// no way works: `sandbox_not_running` with the error of each.
  [[nodiscard]] Task<Result<Endpoint>> find(ReachTarget target, std::function<Result<std::string>()> token);
  /// Connects to a port of its Pod.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(ReachTarget target, std::uint16_t port);

  /// True if the Pod's name is enough to reach its agent: none of the ways that are tried needs an address of its own.
  [[nodiscard]] bool goes_by_name() const noexcept;

  /// Number of port-forwards: those in use, and those of the sandbox that was looked for last.
  [[nodiscard]] std::size_t forwards() const noexcept { return forwards_.size(); }

  /// Ends the port-forwards; call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

 private:
  /// The result of trying all ways.
  struct Trial {
    std::optional<Endpoint> found = {};
    std::string said = {};
    bool may_pass = false;  ///< the failure of one of them may pass
  };
  [[nodiscard]] Task<Trial> try_ways(const ReachTarget* target);
  [[nodiscard]] bool is_wanted(Way way) const;
  [[nodiscard]] Task<Result<Endpoint>> endpoint_by(Way way, const ReachTarget* target);
  [[nodiscard]] Task<Result<Endpoint>> by_gateway(const ReachTarget* target);
  [[nodiscard]] Task<Result<Endpoint>> by_service(const ReachTarget* target);
  [[nodiscard]] Result<Endpoint> by_url(const net::Url& url) const;
  [[nodiscard]] std::chrono::milliseconds tunnel_patience() const;
  [[nodiscard]] std::chrono::milliseconds answer_patience() const;
  [[nodiscard]] Endpoint by_address(std::string host, std::uint16_t port) const;
  [[nodiscard]] std::shared_ptr<kube::PortForward> forward(const ReachTarget& target, std::uint16_t port);

  Cluster* cluster_;
  const ReachOptions options_;
  std::map<std::pair<std::string, std::uint16_t>, std::shared_ptr<kube::PortForward>> forwards_;
};

}  // namespace skiff::container
