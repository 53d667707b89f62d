#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/async/event.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// A bounded set of kept connections to one server. Callers wait for a connection in the order in which they came.
/// Reactor thread only; it must outlive its leases.
class ConnectionPool {
 public:
  using Make = std::function<std::unique_ptr<protocol::HttpClient>()>;

  /// At most `most` connections (1..1000) are in use at once; as many are kept.
  ConnectionPool(Executor executor, std::size_t most, Make make);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// The use of one connection. It is closed at the end of the lease unless `keep()` was called.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] protocol::HttpClient& client() const noexcept { return *client_; }
    /// Call it when the answer was read to its end: the next lease may use the connection.
    void keep() noexcept { keep_ = true; }

   private:
    friend class ConnectionPool;
    Lease(ConnectionPool* pool, std::unique_ptr<protocol::HttpClient> client, unsigned generation)
        : pool_{pool}, client_{std::move(client)}, generation_{generation} {}
    struct Forget {
      void operator()(ConnectionPool*) const noexcept {}
    };
    std::unique_ptr<ConnectionPool, Forget> pool_;  ///< a moved-from lease has none
    std::unique_ptr<protocol::HttpClient> client_;
    unsigned generation_;
    bool keep_ = false;
  };
  [[nodiscard]] Task<Lease> lease();

  /// The client certificate has changed: older connections are not used again.
  void renew() noexcept;

  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.size(); }

 private:
  void give_back(std::unique_ptr<protocol::HttpClient> client, unsigned generation) noexcept;
  void wake_next() noexcept;

  const Executor executor_;
  const std::size_t most_;
  const Make make_;
  std::vector<std::unique_ptr<protocol::HttpClient>> idle_;  ///< the most recently used one is last
  std::list<Event> waiting_;
  std::size_t in_use_ = 0;
  unsigned generation_ = 0;
};

}  // namespace skiff::kube
