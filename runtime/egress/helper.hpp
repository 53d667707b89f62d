#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/tunnel.hpp"
#include "runtime/egress/fence.hpp"
#include "sessions/spawn/environment.hpp"

namespace skiff::runtime::egress {

/// The address on which commands find their proxy: the helper, or the sandbox's egress proxy itself.
inline constexpr const char* kAddress = "127.0.0.1:3128";

/// Sets the variables by which programs find the proxy. What is set already stays.
void set_variables(sessions::Variables& variables);

/// The proxy that commands see, on a loopback address. It carries all bytes unread to the sandbox's egress proxy, which
/// decides. A proxy elsewhere knows the sandbox by its address and a token, which comes first on each connection and
/// which no command sees. Reactor thread only.
class Helper {
 public:
  /// Connections at a time; a further one is refused.
  static constexpr std::size_t kConnections = 256;

  /// Whether a token fits into the first line.
  [[nodiscard]] static bool is_token(std::string_view text) noexcept;

  /// With a `fence`, which it does not outlive, nothing passes before the first proof.
  Helper(Executor executor, protocol::Address proxy, protocol::TunnelLimits limits, const Fence* fence = nullptr);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() = default;  // `stop()` must have ended

  void listen(std::shared_ptr<protocol::Listener> listener);
  /// Shows the proxy this token from now on. Without one, nothing passes to a proxy that is not on `kAddress`.
  void use_token(std::string token);
  /// Carries a client that speaks to HOST:PORT itself, and knows no proxy, until its end. If the proxy refuses, it gets
  /// an alert of TLS; one that is too many is closed.
  [[nodiscard]] Task<> carry_to(protocol::Stream client, std::string target);
  /// Connects to the egress proxy, as this sandbox.
  [[nodiscard]] Task<Result<protocol::Stream>> reach() const;
  /// Ends all connections.
  [[nodiscard]] Task<> stop();

 private:
  static Task<> accept(Helper* self);
  static Task<> carry(Helper* self, protocol::Stream client, std::size_t before);

  Executor executor_;
  protocol::Address proxy_;
  protocol::TunnelLimits limits_;
  const Fence* fence_;
  std::string preamble_;  ///< with the token; empty: none is sent
  std::shared_ptr<protocol::Listener> listener_;
  std::size_t connections_ = 0;
  TaskGroup tasks_;
};

}  // namespace skiff::runtime::egress
