#include "container/net/resolver.hpp"

#include <ares.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/small_file.hpp"

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

/// One look-up, on one thread.
class LookUp {
 public:
  LookUp() {
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
      if (std::chrono::steady_clock::now() >= until) ::ares_cancel(channel_);
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

  /// Waits until a server answers, or until c-ares has something to do; at most until `until`.
  void wait(SteadyTime until) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    const int wanted = ::ares_getsock(channel_, sockets.data(), static_cast<int>(sockets.size()));
    std::array<pollfd, ARES_GETSOCK_MAXNUM> polled{};
    nfds_t count = 0;
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
    for (nfds_t i = 0; i < count; ++i) {
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

  ares_channel channel_ = nullptr;
  int status_ = ARES_SUCCESS;
  bool is_done_ = false;
  std::vector<Address> addresses_;
};

Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port) {
  if (!is_host_name(host)) return fail(Errc::not_found, "look up \"" + host + "\": this is not a host name");
  if (!is_initialised()) return fail(Errc::io_error, "look up \"" + host + "\": c-ares can't be initialised");
  return LookUp{}.run(host, port);
}

Task<Result<std::vector<Address>>> resolve(std::shared_ptr<BlockingPool> pool, std::string host, std::uint16_t port) {
  if (auto literal = Address::ip(host, port)) co_return std::vector<Address>{*literal};
  auto work = [&host, port] { return look_up(host, port); };
  co_return co_await pool->run(std::move(work));
}

}  // namespace

protocol::Resolver system_resolver(std::shared_ptr<BlockingPool> pool) {
  return
      [pool = std::move(pool)](std::string host, std::uint16_t port) { return resolve(pool, std::move(host), port); };
}

}  // namespace skiff::net
