#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/tunnel.hpp"
#include "sessions/spawn/environment.hpp"

namespace skiff::runtime::egress {

/// The address on which commands find their proxy.
inline constexpr const char* kAddress = "127.0.0.1:3128";

/// Sets the variables by which programs find the proxy. What is set already stays.
void set_variables(sessions::Variables& variables);

/// The proxy that commands see, on a loopback address. It carries all bytes unread to the sandbox's egress proxy on a
/// Unix socket, which decides. Reactor thread only.
class Helper {
 public:
  /// Connections at a time; a further one is answered 503.
  static constexpr std::size_t kConnections = 256;

  /// `proxy` is a Unix socket.
  Helper(Executor executor, protocol::Address proxy, protocol::TunnelLimits limits);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() = default;  // `stop()` must have ended

  void listen(std::shared_ptr<protocol::Listener> listener);
  /// Ends all connections.
  [[nodiscard]] Task<> stop();

 private:
  static Task<> accept(Helper* self);
  static Task<> carry(Helper* self, protocol::Stream client, std::size_t before);

  Executor executor_;
  protocol::Address proxy_;
  protocol::TunnelLimits limits_;
  std::shared_ptr<protocol::Listener> listener_;
  std::size_t connections_ = 0;
  TaskGroup tasks_;
};

}  // namespace skiff::runtime::egress
