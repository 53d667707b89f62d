#pragma once

#include <cstdint>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/drivers/docker/engine.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::docker {

/// Connections to ports of containers that this machine cannot reach by address: each is an `exec` of the engine that
/// runs `skiffd relay` in the container. Reactor thread only.
class Relays {
 public:
  explicit Relays(Executor executor) : executor_{executor}, open_{executor} {}
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  /// Returns at once: a port that does not listen is an end of the stream.
  [[nodiscard]] Result<protocol::Stream> connect(const Engine& engine, const std::string& container,
                                                 std::uint16_t port);
  /// Ends all of them; call it before the object is destroyed.
  [[nodiscard]] Task<> close();

 private:
  Executor executor_;
  TaskGroup open_;
};

}  // namespace skiff::container::docker
