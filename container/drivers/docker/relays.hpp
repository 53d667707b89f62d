#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/drivers/docker/engine.hpp"
#include "container/host/host_process.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::docker {

/// How many relays there are at a time: each is a process of the engine here and one in the container.
struct RelayLimits {
  std::size_t of_container = 64;
  std::size_t all = 256;
};

/// Connections to ports of containers that this machine cannot reach by address: each is an `exec` of the engine that
/// runs `skiffd relay` in the container. Reactor thread only.
class Relays {
 public:
  explicit Relays(Executor executor, RelayLimits limits = {}) : executor_{executor}, limits_{limits}, open_{executor} {}
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  /// Returns at once: a port that does not listen is an end of the stream. `resource_exhausted` if there are as many
  /// as the limits allow. A place is free again once the relay has ended.
  [[nodiscard]] Result<protocol::Stream> connect(const Engine& engine, const std::string& container,
                                                 std::uint16_t port);
  /// Ends all of them; call it before the object is destroyed.
  [[nodiscard]] Task<> close();

 private:
  /// Waits for the end of a relay. A relay ends when its client closes the connection.
  [[nodiscard]] Task<> outlive(HostProcess relay, std::string container);

  Executor executor_;
  RelayLimits limits_;
  std::map<std::string, std::size_t> counts_;  ///< relays of each container that has one
  TaskGroup open_;
};

}  // namespace skiff::container::docker
