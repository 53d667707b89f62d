#include "container/net/resolver.hpp"

#include <ares.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/small_file.hpp"
#include "base/unique_fd.hpp"

namespace skiff::net {
namespace {

using protocol::Address;
using std::chrono::milliseconds;

/// Longer than resolv.conf(5) asks for with three servers that do not answer.
constexpr std::chrono::seconds kLongestLookUp{30};

constexpr std::size_t kLongestConfiguration = std::size_t{64} << 10U;

/// c-ares is initialised once for all threads, and never cleaned up: a look-up may run when the program ends.
bool is_initialised() {
  static const bool done = ::ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return done;
}

/// Whether a name has the letters of a host name (RFC 1123) or of a service ("_"). Others are in no file and no DNS.
bool is_host_name(const std::string& host) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

/// The number behind `name` in the last line of `options` of resolv.conf(5), 1 to 30; c-ares 1.18 does not read it.
int resolver_option(std::string_view text, std::string_view name, int otherwise) {
  int value = otherwise;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::string_view number = text.substr(at + name.size(), 2);
    std::from_chars(number.data(), number.data() + number.size(), value);
  }
  return std::clamp(value, 1, 30);
}

/// One look-up, on one thread. It ends early once the event `given_up` is set.
class LookUp {
 public:
  explicit LookUp(int given_up) : given_up_{given_up} {
    const std::string text = read_small_file("/etc/resolv.conf", kLongestConfiguration).value_or("");
    ares_options options{};
    options.timeout = 1000 * resolver_option(text, "timeout:", 5);
    options.tries = resolver_option(text, "attempts:", 2);
    status_ = ::ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
  }
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
  ~LookUp() {
    if (channel_ != nullptr) ::ares_destroy(channel_);
  }

  Result<std::vector<Address>> run(const std::string& host, std::uint16_t port) {
    if (status_ != ARES_SUCCESS) return failure(host);
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NUMERICSERV;
    const std::string service = std::to_string(port);
    ::ares_getaddrinfo(channel_, host.c_str(), service.c_str(), &hints, &LookUp::take_answer, this);
    const SteadyTime until = std::chrono::steady_clock::now() + kLongestLookUp;
    while (!is_done_) {
      wait(until);
      if (is_given_up_ || std::chrono::steady_clock::now() >= until) ::ares_cancel(channel_);
    }
    if (status_ != ARES_SUCCESS) return failure(host);
    return std::move(addresses_);
  }

 private:
  static void take_answer(void* self, int status, int /*timeouts*/, ares_addrinfo* found) {
    static_cast<LookUp*>(self)->take(status, found);
  }

  void take(int status, ares_addrinfo* found) {
    is_done_ = true;
    status_ = status;
    for (const ares_addrinfo_node* node = found == nullptr ? nullptr : found->nodes; node != nullptr;
         node = node->ai_next) {
      sockaddr_storage storage{};
      if (node->ai_addrlen > sizeof storage) continue;
      std::memcpy(&storage, node->ai_addr, node->ai_addrlen);
      addresses_.push_back(Address::from_socket(storage, node->ai_addrlen));
    }
    if (found != nullptr) ::ares_freeaddrinfo(found);
  }

  /// Waits until a server answers, nobody wants the answer, or c-ares has something to do; at most until `until`.
  void wait(SteadyTime until) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    const int wanted = ::ares_getsock(channel_, sockets.data(), static_cast<int>(sockets.size()));
    std::array<pollfd, ARES_GETSOCK_MAXNUM + 1> polled{};
    polled[0] = {.fd = given_up_, .events = POLLIN, .revents = 0};
    nfds_t count = 1;
    for (unsigned i = 0; i < sockets.size(); ++i) {
      const bool reads = ARES_GETSOCK_READABLE(static_cast<unsigned>(wanted), i) != 0;
      const bool writes = ARES_GETSOCK_WRITABLE(static_cast<unsigned>(wanted), i) != 0;
      if (!reads && !writes) continue;
      polled[count++] = {
          .fd = sockets[i], .events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), .revents = 0};
    }
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    timeval limit{.tv_sec = std::max<std::int64_t>(left.count(), 0) / 1000,
                  .tv_usec = std::max<std::int64_t>(left.count(), 0) % 1000 * 1000};
    timeval next{};
    const timeval* const pause = ::ares_timeout(channel_, &limit, &next);
    const int ready =
        ::poll(polled.data(), count, static_cast<int>(pause->tv_sec * 1000 + (pause->tv_usec + 999) / 1000));
    if (ready <= 0) return ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    is_given_up_ = polled[0].revents != 0;
    for (nfds_t i = 1; i < count; ++i) {
      const short happened = polled[i].revents;
      const auto read = (happened & ~POLLOUT) != 0 ? polled[i].fd : ARES_SOCKET_BAD;
      const auto write = (happened & POLLOUT) != 0 ? polled[i].fd : ARES_SOCKET_BAD;
      ::ares_process_fd(channel_, read, write);
    }
  }

  [[nodiscard]] std::unexpected<Error> failure(const std::string& host) const {
    const bool is_unknown = status_ == ARES_ENOTFOUND || status_ == ARES_ENODATA || status_ == ARES_EBADNAME;
    const char* const why = status_ == ARES_ECANCELLED ? "no name server has answered" : ::ares_strerror(status_);
    return fail(is_unknown ? Errc::not_found : Errc::io_error, "look up \"" + host + "\": " + why);
  }

  int given_up_;  ///< an eventfd(2) of the caller
  bool is_given_up_ = false;
  ares_channel channel_ = nullptr;
  int status_ = ARES_SUCCESS;
  bool is_done_ = false;
  std::vector<Address> addresses_;
};

Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port, int given_up) {
  if (!is_host_name(host)) return fail(Errc::not_found, "look up \"" + host + "\": this is not a host name");
  if (!is_initialised()) return fail(Errc::io_error, "look up \"" + host + "\": c-ares can't be initialised");
  return LookUp{given_up}.run(host, port);
}

Task<Result<std::vector<Address>>> resolve(std::shared_ptr<BlockingPool> pool, std::string host, std::uint16_t port) {
  if (auto literal = Address::ip(host, port)) co_return std::vector<Address>{*literal};
  // The pool waits for its job even if the caller is cancelled, so the job is told to end. The handler may outlive this
  // function, so it shares the event.
  const auto given_up = std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!*given_up) co_return std::unexpected{system_error(errno, "look up \"" + host + "\": eventfd")};
  const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
  auto slot = cancellation.slot();
  if (slot.is_connected()) {
    slot.assign([given_up](boost::asio::cancellation_type) { (void)::eventfd_write(given_up->get(), 1); });
  }
  auto work = [&host, port, event = given_up->get()] { return look_up(host, port, event); };
  auto found = co_await pool->run(std::move(work));
  slot.clear();
  co_return found;
}

}  // namespace

protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool) {
  return
      [pool = std::move(pool)](std::string host, std::uint16_t port) { return resolve(pool, std::move(host), port); };
}

}  // namespace skiff::net
