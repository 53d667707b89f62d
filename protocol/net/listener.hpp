#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"

namespace skiff::protocol {

/// The meaning of [::].
enum class AnyAddress : unsigned char {
  of_both,  ///< every address of the machine, IPv4 too, as usual; 0.0.0.0 if the kernel lacks IPv6
  of_ip6,   ///< IPv6 only, beside a socket for IPv4
};
/// Returns the meaning of [::] beside `all` the addresses to listen on: IPv6 only if one of them is an IPv4 address
/// with its port.
[[nodiscard]] AnyAddress any_address(const Address& address, std::span<const Address> all);

/// A listening socket. Each time it wakes, it accepts all pending connections. When descriptors or memory run out, it
/// refuses the waiting client and continues: it neither spins nor ends. Reactor thread only.
class Listener {
 public:
  /// Binds and listens. Port 0 takes a free port. A Unix socket file gets mode 0600, replaces a file on which no
  /// process accepts, and is removed with the listener. An inherited descriptor must be a Unix stream socket that
  /// listens; its number becomes free. Errors name the address and the reason.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(Executor executor, const Address& address,
                                                              AnyAddress any = AnyAddress::of_both);
  /// Takes over a stream socket that listens. The file of a Unix socket stays its creator's.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> take(Executor executor, UniqueFd socket);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// The actual address.
  [[nodiscard]] const Address& address() const noexcept;

  /// Calls `connected(socket, peer)` for each connection, until `close()` or cancellation. The socket is non-blocking,
  /// close-on-exec and, on TCP, has TCP_NODELAY. `connected` must not block. Without a free descriptor, `make_room` is
  /// called to close a connection; if it returns false, the waiting client is refused.
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
