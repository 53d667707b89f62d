#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"

namespace skiff::protocol {

/// What [::] means.
enum class AnyAddress : unsigned char {
  of_both,  ///< every address of the machine, IPv4 too, as elsewhere; without IPv6 in the kernel it is 0.0.0.0
  of_ip6,   ///< beside a socket for 0.0.0.0
};
/// What it means beside `all` the addresses that are listened on: those of IPv4 with its port are taken there.
[[nodiscard]] AnyAddress any_address(const Address& address, std::span<const Address> all);

/// A listening socket. It accepts all that is pending each time it wakes, and when descriptors or memory run out it
/// turns the waiting client away and goes on: it neither spins nor ends. Reactor thread only.
class Listener {
 public:
  /// Binds and listens. Port 0 takes a free one. A Unix socket file gets mode 0600, replaces a file on which nobody
  /// answers, and is removed with the listener. Errors say which address could not be had and why.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(Executor executor, const Address& address,
                                                              AnyAddress any = AnyAddress::of_both);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Where it really listens.
  [[nodiscard]] const Address& address() const noexcept;

  /// Calls `connected(socket, peer)` for each connection, until `close()` or cancellation. The socket is non-blocking,
  /// close-on-exec and, on TCP, has TCP_NODELAY. `connected` must not block. Without a free descriptor `make_room` is
  /// asked to close something; if it returns false the waiting client is turned away.
  [[nodiscard]] Task<> accept_all(std::function<void(UniqueFd, Address)> connected,
                                  std::function<bool()> make_room = {});

  /// Stops listening; `accept_all` ends.
  void close() noexcept;

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace skiff::protocol
