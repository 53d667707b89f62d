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

/// Protocols that existing clients already speak, each a translation onto the agent's own sessions, commands and files
/// (docs/clients.md). A dialect listens where its clients look for it, beside the agent's own addresses.
namespace skiff::runtime::dialects {

/// What serves the connections of one address. Reactor thread only.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// Accepts from `listener` until `stop()`.
  virtual void listen(std::shared_ptr<protocol::Listener> listener) = 0;
  /// From now on answers end their connection, and idle connections are closed.
  virtual void drain() = 0;
  /// After `drain()`: ends when no connection is left, or after `limit`.
  [[nodiscard]] virtual Task<> drained(std::chrono::milliseconds limit) = 0;
  /// Closes the listeners, cancels what is under way, and waits until it has ended. Must have ended before the service
  /// is destroyed.
  [[nodiscard]] virtual Task<> stop() = 0;
};

/// One of a dialect's addresses.
struct Endpoint {
  std::string_view speaks;  ///< for people: "HTTP", "gRPC"
  std::uint16_t port;       ///< where its clients look for it
  std::unique_ptr<Service> (*open)(Agent& agent);
};

/// One row of `table()`.
struct Dialect {
  std::string_view name;  ///< as in --dialect; its commands are started by "dialect:NAME"
  std::span<const Endpoint> endpoints;
  /// Whether these settings give it a credential, so that not everybody who reaches it may use it; null: none ever do.
  bool (*is_guarded)(const Settings& settings) = nullptr;
};

/// THE table of dialects that this program was built with.
[[nodiscard]] std::span<const Dialect> table();

/// A dialect that was asked for, with an address for each of its doors.
struct Wanted {
  const Dialect* dialect;
  std::vector<protocol::Address> addresses;
};

/// Reads the values of --dialect: NAME, or NAME=ADDR:PORT with an address for each endpoint, separated by commas. Where
/// no address is given it is the endpoint's port on `host`. Errors: invalid_field naming the dialects that there are.
[[nodiscard]] Result<std::vector<Wanted>> wanted(const std::vector<std::string>& values, std::span<const Dialect> known,
                                                 std::string_view host);

/// "dialect:NAME": who starts commands that came through it, in the audit log.
[[nodiscard]] std::string identity_name(std::string_view dialect);

}  // namespace skiff::runtime::dialects
