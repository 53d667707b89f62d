#include "protocol/net/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/async/timer.hpp"
#include "base/log/log.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;

namespace {

/// After this many connections in a row, other coroutines get their turn.
constexpr int kAcceptsAtOnce = 64;
/// The pause before the next accept when descriptors or memory have run out.
constexpr std::chrono::milliseconds kBackOff{50};

std::unexpected<Error> failed(int error, std::string_view what, const Address& address) {
  return std::unexpected{system_error(error, std::string{what} + " " + address.text())};
}

/// Returns true if a process accepts connections there. Otherwise the socket file is left over from a killed process.
bool somebody_answers(const Address& address) {
  const UniqueFd probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!probe) return true;
  return ::connect(probe.get(), address.data(), address.size()) == 0 || errno == EAGAIN || errno == EINPROGRESS;
}

Result<> bind_unix(int socket, const Address& address) {
  // The file is created with mode 0600, so no other user can connect before a chmod.
  const mode_t old_mask = ::umask(0177);
  int result = ::bind(socket, address.data(), address.size());
  if (result != 0 && errno == EADDRINUSE) {
    struct stat existing{};
    const bool is_socket = ::lstat(address.path().c_str(), &existing) == 0 && S_ISSOCK(existing.st_mode);
    if (is_socket && !somebody_answers(address)) {
      ::unlink(address.path().c_str());
      result = ::bind(socket, address.data(), address.size());
    } else {
      errno = EADDRINUSE;
    }
  }
  const int error = errno;
  ::umask(old_mask);
  if (result != 0) return failed(error, "listen on", address);
  return {};
}

Result<> bind_tcp(int socket, const Address& address, AnyAddress any) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    // Overrides the default of the machine (net.ipv6.bindv6only).
    const int only = address.is_any() && any == AnyAddress::of_both ? 0 : 1;
    if (::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) != 0) {
      return failed(errno, "listen on", address);
    }
  }
  if (::bind(socket, address.data(), address.size()) != 0) return failed(errno, "listen on", address);
  return {};
}

/// Takes over the descriptor. It moves to another number, so that a second listener cannot take it, too.
Result<UniqueFd> inherit(const Address& address) {
  const int number = address.descriptor();
  int family = 0;
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof family;
  if (::getsockopt(number, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
      ::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      ::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) {
    return failed(errno, "listen on", address);
  }
  // A TCP socket is refused: a process in the network namespace of its creator could reach it.
  if (family != AF_UNIX || type != SOCK_STREAM || listens == 0) {
    return fail(Errc::invalid_field, "listen on " + address.text() + ": not a Unix stream socket that listens");
  }
  UniqueFd taken{::fcntl(number, F_DUPFD_CLOEXEC, 0)};
  if (!taken || ::fcntl(taken.get(), F_SETFL, O_NONBLOCK) != 0) return failed(errno, "listen on", address);
  ::close(number);
  return taken;
}

/// Whether the error concerns a single connection that ended before it was accepted (see accept(2)): the next accept
/// may succeed.
bool concerns_one_connection(int error) noexcept {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Listener::State {
  using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
  State(Executor executor, UniqueFd socket, Address address_in)
      : descriptor{executor, socket.release()}, timer{executor}, address{std::move(address_in)} {
    if (has_file()) {
      struct stat file{};
      if (::stat(address.path().c_str(), &file) == 0) inode = file.st_ino;
    }
    open_reserve();
  }

  /// Whether there is a socket file, which is removed with the listener. An inherited socket's file is its creator's.
  [[nodiscard]] bool has_file() const { return address.is_unix() && address.descriptor() < 0; }

  /// Whether a client waits. Without a free descriptor accept4(2) fails with EMFILE or ENFILE even if none does.
  [[nodiscard]] bool somebody_waits() {
    pollfd entry{.fd = descriptor.native_handle(), .events = POLLIN, .revents = 0};
    // poll(2) fails with EINVAL where the limit of descriptors is 0; then assume that a client waits.
    return ::poll(&entry, 1, 0) != 0;
  }

  void open_reserve() { reserve.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  /// Refuses one client. Without a free descriptor it would hang, and the socket would stay readable. So the spare
  /// descriptor is freed to accept its connection and close it.
  void turn_one_away() {
    if (!reserve) return;
    reserve.reset();
    UniqueFd refused{::accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    refused.reset();
    open_reserve();
  }

  void close() noexcept {
    if (!descriptor.is_open()) return;
    boost::system::error_code ignored;
    descriptor.close(ignored);
    timer.cancel();
    if (!has_file()) return;
    // Keep the file if another process has put its own one there meanwhile.
    struct stat file{};
    if (::stat(address.path().c_str(), &file) == 0 && file.st_ino == inode) ::unlink(address.path().c_str());
  }

  static Task<> accept_all(std::shared_ptr<State> self, std::function<void(UniqueFd, Address)> connected,
                           std::function<bool()> make_room);

  Descriptor descriptor;
  Timer timer;
  Address address;
  UniqueFd reserve;
  ino_t inode = 0;
};

Task<> Listener::State::accept_all(std::shared_ptr<State> self, std::function<void(UniqueFd, Address)> connected,
                                   std::function<bool()> make_room) {
  bool complained = false;
  while (self->descriptor.is_open()) {
    boost::system::error_code error;
    co_await self->descriptor.async_wait(Descriptor::wait_read, asio::redirect_error(use_task, error));
    if (error && error != asio::error::operation_aborted) {
      log::error("waiting for connections failed", {{"address", self->address.text()}, {"error", error.message()}});
    }
    for (int i = 0; i < kAcceptsAtOnce && self->descriptor.is_open(); ++i) {
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      UniqueFd socket{::accept4(self->descriptor.native_handle(), reinterpret_cast<sockaddr*>(&peer), &length,
                                SOCK_CLOEXEC | SOCK_NONBLOCK)};
      if (socket) {
        complained = false;
        if (!self->address.is_unix()) {
          const int on = 1;
          ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        try {
          connected(std::move(socket), Address::from_socket(peer, length));
        } catch (const std::bad_alloc&) {
          // This connection is closed; the next one may find memory again.
          log::warning("there is no memory for a connection", {{"address", self->address.text()}});
        }
        continue;
      }
      const int reason = errno;
      if (reason == EAGAIN) break;
      if (concerns_one_connection(reason)) continue;
      const bool is_full = reason == EMFILE || reason == ENFILE;
      // No client waits now. A client that comes later is handled in the next round.
      if (is_full && !self->somebody_waits()) break;
      if (reason == EMFILE && make_room && make_room()) continue;
      if (!std::exchange(complained, true)) {
        log::warning("can't accept connections", {{"address", self->address.text()}, {"error", errno_text(reason)}});
      }
      if (is_full) self->turn_one_away();
      self->timer.expires_after(kBackOff);
      co_await self->timer.async_wait(asio::redirect_error(use_task, error));
      break;
    }
  }
}

AnyAddress any_address(const Address& address, std::span<const Address> all) {
  const bool has_ip4 = std::ranges::any_of(all, [&](const Address& other) {
    return other.family() == AF_INET && other.port() != 0 && other.port() == address.port();
  });
  return has_ip4 ? AnyAddress::of_ip6 : AnyAddress::of_both;
}

Result<std::unique_ptr<Listener>> Listener::open(Executor executor, const Address& address, AnyAddress any) {
  if (address.descriptor() >= 0) {
    SKIFF_TRY(auto inherited, inherit(address));
    auto state = std::make_shared<State>(std::move(executor), std::move(inherited), address);
    return std::unique_ptr<Listener>{new Listener{std::move(state)}};
  }
  UniqueFd socket{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket && errno == EAFNOSUPPORT && address.family() == AF_INET6 && address.is_any() &&
      any == AnyAddress::of_both) {
    // In a kernel without IPv6 (ipv6.disable=1), "every address" is 0.0.0.0.
    SKIFF_TRY(const auto ip4, Address::ip("0.0.0.0", address.port()));
    return open(std::move(executor), ip4, any);
  }
  if (!socket) return failed(errno, "listen on", address);
  SKIFF_TRY_VOID(address.is_unix() ? bind_unix(socket.get(), address) : bind_tcp(socket.get(), address, any));
  if (::listen(socket.get(), SOMAXCONN) != 0) return failed(errno, "listen on", address);
  sockaddr_storage real{};
  socklen_t length = sizeof real;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&real), &length) != 0) {
    return failed(errno, "listen on", address);
  }
  auto state = std::make_shared<State>(executor, std::move(socket), Address::from_socket(real, length));
  return std::unique_ptr<Listener>{new Listener{std::move(state)}};
}

Result<std::unique_ptr<Listener>> Listener::take(Executor executor, UniqueFd socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return std::unexpected{system_error(errno, "take over a socket")};
  }
  Address address = Address::from_socket(own, length);
  if (address.is_unix()) {
    SKIFF_TRY(address, Address::parse("fd:" + std::to_string(socket.get())));
  }
  auto state = std::make_shared<State>(executor, std::move(socket), std::move(address));
  return std::unique_ptr<Listener>{new Listener{std::move(state)}};
}

Listener::Listener(std::shared_ptr<State> state) : state_{std::move(state)} {}
Listener::~Listener() {
  close();
}
const Address& Listener::address() const noexcept {
  return state_->address;
}
Task<> Listener::accept_all(std::function<void(UniqueFd, Address)> connected, std::function<bool()> make_room) {
  return State::accept_all(state_, std::move(connected), std::move(make_room));
}
void Listener::close() noexcept {
  state_->close();
}

}  // namespace skiff::protocol
