#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::runtime {
struct Agent;
struct Settings;
}  // namespace skiff::runtime

/// A dialect is a protocol that existing clients already speak. It translates their requests to the agent's own
/// sessions, commands and files (docs/clients.md). It listens on the ports that its clients use, beside the agent's own
/// addresses.
namespace skiff::runtime::dialects {

/// Serves the connections of one address. Reactor thread only.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// Accepts connections from `listener` until `stop()`.
  virtual void listen(std::shared_ptr<protocol::Listener> listener) = 0;
  /// Makes each further answer close its connection, and closes idle connections.
  virtual void drain() = 0;
  /// Waits, after `drain()`, until every connection has closed, or for `limit`.
  [[nodiscard]] virtual Task<> drained(std::chrono::milliseconds limit) = 0;
  /// Closes the listeners, cancels running requests, and waits until they have ended. The task must have ended before
  /// the service is destroyed.
  [[nodiscard]] virtual Task<> stop() = 0;
};

/// An endpoint of a dialect: an address on which it listens.
struct Endpoint {
  std::string_view speaks;  ///< the protocol's name for people: "HTTP", "gRPC"
  std::uint16_t port;       ///< the port that its clients use
  std::unique_ptr<Service> (*open)(Agent& agent);
};

/// A row of `table()`.
struct Dialect {
  std::string_view name;  ///< the value of --dialect; "dialect:NAME" starts its commands
  std::span<const Endpoint> endpoints;
  /// Whether these settings give the dialect a credential, without which a client may not use it; null: no setting
  /// does.
  bool (*is_guarded)(const Settings& settings) = nullptr;
};

/// The table of the dialects that this program was built with.
[[nodiscard]] std::span<const Dialect> table();

/// A dialect that the settings enable, with an address for each of its endpoints.
struct Wanted {
  const Dialect* dialect;
  std::vector<protocol::Address> addresses;
};

/// Reads the values of --dialect: NAME, or NAME=ADDR:PORT with an address for each endpoint, separated by commas.
/// Without addresses each endpoint gets its own port on `host`. Errors: invalid_field; for an unknown name the message
/// lists the known dialects.
[[nodiscard]] Result<std::vector<Wanted>> wanted(const std::vector<std::string>& values, std::span<const Dialect> known,
                                                 std::string_view host);

/// The identity of the dialect's commands in the audit log: "dialect:NAME".
[[nodiscard]] std::string identity_name(std::string_view dialect);

}  // namespace skiff::runtime::dialects
