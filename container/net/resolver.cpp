#include "container/net/resolver.hpp"

#include <ares.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"
#include "base/clock.hpp"
#include "base/small_file.hpp"

namespace skiff::net {
namespace asio = boost::asio;

namespace {

using protocol::Address;
using std::chrono::milliseconds;

/// Longer than resolv.conf(5) asks for with three servers that do not answer.
constexpr std::chrono::seconds kLongestLookUp{30};

constexpr std::size_t kLongestConfiguration = std::size_t{64} << 10U;

/// c-ares is initialised once, and never cleaned up.
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

/// One look-up. c-ares says for which of its sockets it waits, and the reactor waits for them. Each has a channel of
/// its own: so none shares a source port or a server's bad name with another one, and a changed resolv.conf holds at
/// once.
class LookUp {
 public:
  explicit LookUp(Executor executor) : executor_{executor}, next_{executor} {
    const std::string text = read_small_file("/etc/resolv.conf", kLongestConfiguration).value_or("");
    ares_options options{};
    options.timeout = 1000 * resolver_option(text, "timeout:", 5);
    options.tries = resolver_option(text, "attempts:", 2);
    options.sock_state_cb = [](void* self, ares_socket_t number, int reads, int writes) {
      static_cast<LookUp*>(self)->want(number, {reads != 0, writes != 0});
    };
    options.sock_state_cb_data = this;
    status_ = ::ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
  }
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
  ~LookUp() {
    if (channel_ != nullptr) ::ares_destroy(channel_);
  }

  Task<Result<std::vector<Address>>> run(std::string host, std::uint16_t port) {
    if (status_ != ARES_SUCCESS) co_return failure(host);
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NUMERICSERV;
    const std::string service = std::to_string(port);
    ::ares_getaddrinfo(channel_, host.c_str(), service.c_str(), &hints, &LookUp::take_answer, this);
    const SteadyTime until = std::chrono::steady_clock::now() + kLongestLookUp;
    while (!is_done_) {
      if (std::chrono::steady_clock::now() >= until) {
        ::ares_cancel(channel_);
        break;
      }
      next_.expires_at(std::min(until, next_turn()));
      auto [error] = co_await next_.async_wait(asio::as_tuple(use_task));
      if (!error) ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    }
    if (status_ != ARES_SUCCESS) co_return failure(host);
    co_return std::move(addresses_);
  }

 private:
  using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
  using Kinds = std::array<bool, 2>;  ///< to read, to write

  /// A socket of c-ares, as long as that has it open.
  struct Socket {
    Socket(LookUp* of, ares_socket_t which) : owner{of}, number{which}, descriptor{of->executor_} {
      boost::system::error_code ignored;
      descriptor.assign(which, ignored);
    }
    LookUp* owner;  ///< null once it is closed
    ares_socket_t number;
    Descriptor descriptor;
    Kinds wanted{};
    Kinds waits{};
  };

  void want(ares_socket_t number, Kinds wanted) {
    auto& socket = sockets_[number];
    if (!socket) socket = std::make_shared<Socket>(this, number);
    socket->wanted = wanted;
    if (wanted == Kinds{}) {
      socket->owner = nullptr;
      // c-ares closes it.
      if (socket->descriptor.is_open()) socket->descriptor.release();
      sockets_.erase(number);
      return;
    }
    for (const std::size_t kind : {0U, 1U}) watch(socket, kind);
  }

  static void watch(const std::shared_ptr<Socket>& socket, std::size_t kind) {
    if (socket->owner == nullptr || !socket->wanted.at(kind) || socket->waits.at(kind)) return;
    socket->waits.at(kind) = true;
    socket->descriptor.async_wait(kind == 0 ? Descriptor::wait_read : Descriptor::wait_write,
                                  [socket, kind](boost::system::error_code error) {
                                    socket->waits.at(kind) = false;
                                    if (error || socket->owner == nullptr) return;
                                    socket->owner->process(socket->number, kind);
                                    watch(socket, kind);
                                  });
  }

  void process(ares_socket_t number, std::size_t kind) {
    ::ares_process_fd(channel_, kind == 0 ? number : ARES_SOCKET_BAD, kind == 1 ? number : ARES_SOCKET_BAD);
    next_.cancel();
  }

  /// When c-ares has something to do without an answer.
  [[nodiscard]] SteadyTime next_turn() const {
    timeval limit{.tv_sec = kLongestLookUp.count(), .tv_usec = 0};
    timeval next{};
    const timeval* const left = ::ares_timeout(channel_, &limit, &next);
    return std::chrono::steady_clock::now() + std::chrono::seconds{left->tv_sec} +
           std::chrono::microseconds{left->tv_usec} + milliseconds{1};
  }

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

  [[nodiscard]] std::unexpected<Error> failure(const std::string& host) const {
    const bool is_unknown = status_ == ARES_ENOTFOUND || status_ == ARES_ENODATA || status_ == ARES_EBADNAME;
    const char* const why = status_ == ARES_ECANCELLED ? "no name server has answered" : ::ares_strerror(status_);
    return fail(is_unknown ? Errc::not_found : Errc::io_error, "look up \"" + host + "\": " + why);
  }

  Executor executor_;
  Timer next_;
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, std::shared_ptr<Socket>> sockets_;
  int status_ = ARES_SUCCESS;
  bool is_done_ = false;
  std::vector<Address> addresses_;
};

Task<Result<std::vector<Address>>> resolve(std::string host, std::uint16_t port) {
  if (auto literal = Address::ip(host, port)) co_return std::vector<Address>{*literal};
  if (!is_host_name(host)) co_return fail(Errc::not_found, "look up \"" + host + "\": this is not a host name");
  if (!is_initialised()) co_return fail(Errc::io_error, "look up \"" + host + "\": c-ares can't be initialised");
  LookUp look_up{co_await asio::this_coro::executor};
  co_return co_await look_up.run(std::move(host), port);
}

}  // namespace

protocol::Resolver system_resolver() {
  return &resolve;
}

}  // namespace skiff::net
