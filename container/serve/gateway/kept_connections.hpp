#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::serve {

struct KeptLimits {
  std::size_t each = 8;   ///< most for one port of one sandbox
  std::size_t all = 256;  ///< most of all together: each is a descriptor
  /// Longest idle time. It is shorter than the 5 s after which an agent closes an unauthenticated connection, so that a
  /// connection does not end while a request is on its way.
  std::chrono::milliseconds idle{4'000};
  std::chrono::milliseconds age{60'000};  ///< longest time since it was opened
};

/// Idle connections to sandboxes, for the next request to the same place. A connection that was taken belongs to the
/// caller. Reactor thread only.
class KeptConnections {
 public:
  /// The only destination for which a connection may be used.
  struct Key {
    std::string tenant;
    std::string sandbox;
    std::string run;  ///< the run of the sandbox (Sandboxes::run_of)
    std::uint16_t port = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Connection {
    protocol::Stream stream;
    SteadyTime made;
  };

  KeptConnections(Executor executor, KeptLimits limits);
  KeptConnections(const KeptConnections&) = delete;
  KeptConnections& operator=(const KeptConnections&) = delete;

  /// The most recently used open connection; nullopt if there is none.
  [[nodiscard]] std::optional<Connection> take(const Key& key);
  /// Keeps a connection without a request under way and without unread bytes. A connection that is too old, or uses
  /// TLS, is closed.
  void keep(Key key, Connection connection);
  /// Closes all connections.
  void clear() noexcept { idle_.clear(); }

  [[nodiscard]] std::size_t size() const noexcept { return idle_.size(); }

 private:
  struct Idle {
    Key key;
    Connection connection;
    SteadyTime since;
  };
  [[nodiscard]] bool is_old(const Idle& one, SteadyTime now) const noexcept;
  void close_old();

  KeptLimits limits_;
  std::list<Idle> idle_;  ///< the most recently used one is last
  Deadline next_look_;
};

}  // namespace skiff::container::serve
