#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/async/task_group.hpp"
#include "container/kube/transport.hpp"
#include "protocol/http/client.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::kube {

/// Connections to one port of a pod through the API server: WebSockets that speak v4.channel.k8s.io, each one TCP
/// connection on the pod's side. The caller gets an ordinary Stream (a socket pair that a task of this object serves),
/// so every protocol runs over it. The protocol cannot end one direction only, and the end of the Pod's side comes a
/// second late. Reactor thread only.
class PortForward {
 public:
  /// `transport` must outlive it.
  PortForward(Executor executor, Transport* transport, std::string namespace_name, std::string pod, std::uint16_t port);
  ~PortForward();
  PortForward(const PortForward&) = delete;
  PortForward& operator=(const PortForward&) = delete;

  /// Opens a connection. A port that cannot be reached is noticed later: the stream ends, and `trouble()` says why.
  [[nodiscard]] Task<Outcome<protocol::Stream>> open();
  /// Returns `open` as a dialer for HttpClientOptions::dial, which sets the time limit. This object must outlive the
  /// dialer.
  [[nodiscard]] protocol::Dialer dialer();

  /// The other side's message about the last connection that failed there ("... connection refused"), or empty.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
  [[nodiscard]] std::size_t connections() const noexcept { return pumps_.size(); }

  /// Ends all connections. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

 private:
  [[nodiscard]] std::string where() const;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::chrono::milliseconds limit);
  [[nodiscard]] Task<> pump(std::unique_ptr<protocol::WebSocket> socket, protocol::Stream local);
  [[nodiscard]] Task<> pump_down(protocol::WebSocket* socket, protocol::Stream* local);

  const Executor executor_;
  Transport* transport_;
  const std::string namespace_name_;
  const std::string pod_;
  const std::uint16_t port_;
  std::string trouble_;
  TaskGroup pumps_;
};

}  // namespace skiff::kube
