#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/task.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::serve {

struct KeptLimits {
  std::size_t each = 8;   ///< of one port of one sandbox
  std::size_t all = 256;  ///< of all together: each is a descriptor
  /// Unused; shorter than the 5 s after which an agent closes one on which nobody has shown a credential, so that it
  /// does not end under a request that is on its way.
  std::chrono::milliseconds idle{4'000};
  std::chrono::milliseconds age{60'000};  ///< from its making
};

/// Connections to sandboxes on which no request is under way, for the next one to the same place. Whoever is given one
/// has it alone. Reactor thread only.
class KeptConnections {
 public:
  /// What a connection is good for, and nothing else.
  struct Place {
    std::string tenant;
    std::string sandbox;
    std::string run;  ///< which of all that have run, or will, under that name (Sandboxes::run_of)
    std::uint16_t port = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Connection {
    protocol::Stream stream;
    SteadyTime made;
  };

  KeptConnections(Executor executor, KeptLimits limits);
  KeptConnections(const KeptConnections&) = delete;
  KeptConnections& operator=(const KeptConnections&) = delete;

  /// The one that was used last, of those that are still open. Nothing: make one.
  [[nodiscard]] std::optional<Connection> take(const Place& place);
  /// Nothing may be under way on it, nor have come that nobody has read. What is too old, or TLS, is closed.
  void keep(Place place, Connection connection);
  /// Closes them all.
  void clear() noexcept { idle_.clear(); }

  [[nodiscard]] std::size_t size() const noexcept { return idle_.size(); }

 private:
  struct Idle {
    Place place;
    Connection connection;
    SteadyTime since;
  };
  [[nodiscard]] bool is_old(const Idle& one, SteadyTime now) const noexcept;
  void close_old();

  KeptLimits limits_;
  std::list<Idle> idle_;  ///< the last one was used last
  Deadline next_look_;
};

}  // namespace skiff::container::serve
