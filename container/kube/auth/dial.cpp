#include "container/kube/auth/dial.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"

#include "protocol/json/base64.hpp"

namespace skiff::kube {
namespace {

using protocol::HttpClient;
using protocol::Stream;
using std::chrono::milliseconds;

std::string with_proxy(const net::Url& proxy, std::string_view what) {
  return "the proxy " + proxy.authority() + " " + std::string{what};
}

/// Connects with an HTTP client that sends nothing, and takes its stream.
Task<Result<Stream>> dial_directly(Executor executor, protocol::Resolver resolver, net::Url server,
                                   milliseconds limit) {
  HttpClient client{executor,
                    {.host = server.host, .port = server.port, .resolver = std::move(resolver), .connect_time = limit}};
  SKIFF_CO_TRY_VOID(co_await client.connect());
  co_return std::move(client.take_upgraded().stream);
}

/// Connects with an HTTP client that sends only a CONNECT, and takes its stream.
Task<Result<Stream>> dial_through(Executor executor, protocol::Resolver resolver, net::Url server, net::Url proxy,
                                  milliseconds limit) {
  HttpClient client{executor,
                    {.host = server.host,
                     .port = server.port,
                     .dial = create_dialer(executor, std::move(resolver), proxy, std::nullopt),
                     .connect_time = limit,
                     .idle_time = limit}};
  HttpClient::Request request{.method = "CONNECT", .target = server.authority(), .headers = {}, .body = {}};
  if (!proxy.user.empty()) {
    const std::string secret = proxy.user + ":" + proxy.password;
    request.headers.add("Proxy-Authorization", "Basic " + protocol::encode_base64(secret));
  }
  auto head = co_await client.open(std::move(request));
  if (!head) co_return fail(head.error().code, with_proxy(proxy, "does not answer: " + head.error().message));
  if (head->status / 100 != 2) {
    co_return fail(head->status == 407 ? Errc::unauthenticated : Errc::io_error,
                   with_proxy(proxy, "refuses to connect to " + server.authority() + ": " +
                                         std::to_string(head->status) + " " + head->reason));
  }
  protocol::Upgraded connection = client.take_upgraded();
  if (!connection.buffered.empty()) co_return fail(Errc::invalid_request, with_proxy(proxy, "sends bytes of its own"));
  co_return std::move(connection.stream);
}

std::string_view socks_refusal(unsigned char code) {
  constexpr std::array<std::string_view, 9> kWords{"",
                                                   "it failed",
                                                   "its rules do not allow it",
                                                   "the network is unreachable",
                                                   "the host is unreachable",
                                                   "the connection was refused",
                                                   "it took too long",
                                                   "it does not know the command",
                                                   "it does not know this kind of address"};
  return code < kWords.size() ? kWords[code] : "for a reason of its own";
}

/// The handshake with a SOCKS 5 server; the bytes after it are the destination's. The proxy resolves names.
class Socks {
 public:
  Socks(Stream* stream, const net::Url* proxy, SteadyTime until) : stream_{stream}, proxy_{proxy}, until_{until} {}

  Task<Result<>> connect(const net::Url* server) {
    const bool has_user = !proxy_->user.empty();
    if (has_user && (proxy_->user.size() > 255 || proxy_->password.size() > 255)) {
      co_return fail(Errc::invalid_field, with_proxy(*proxy_, "takes names and passwords of 255 bytes at most"));
    }
    if (server->host.size() > 255) co_return fail(Errc::invalid_field, "the server's name is too long for SOCKS");
    SKIFF_CO_TRY(auto method,
                 co_await ask(has_user ? std::string{"\x05\x02\x00\x02", 4} : std::string{"\x05\x01\x00", 3}, 2));
    if (method[0] != 5) co_return nonsense();
    if (method[1] == 2 && has_user) {
      SKIFF_CO_TRY(auto known,
                   co_await ask(std::string(1, '\x01') + counted(proxy_->user) + counted(proxy_->password), 2));
      if (known[1] != 0) co_return fail(Errc::unauthenticated, with_proxy(*proxy_, "refuses its user's password"));
    } else if (method[1] != 0) {
      co_return fail(Errc::unauthenticated,
                     with_proxy(*proxy_, "wants a user: write it as socks5://USER:PASSWORD@HOST"));
    }
    std::string request{"\x05\x01\x00", 3};
    request += place(server->host);
    request += static_cast<char>(server->port >> 8U);
    request += static_cast<char>(server->port & 0xffU);
    SKIFF_CO_TRY(auto answer, co_await ask(std::move(request), 5));
    if (answer[0] != 5) co_return nonsense();
    const auto code = static_cast<unsigned char>(answer[1]);
    if (code != 0) {
      co_return fail(Errc::io_error, with_proxy(*proxy_, "does not connect to " + server->authority() + ": " +
                                                             std::string{socks_refusal(code)}));
    }
    // The proxy's own address and port follow: an IPv4 address, a name or an IPv6 address. One byte of it was read
    // already.
    const char kind = answer[3];
    if (kind != kIp4 && kind != kName && kind != kIp6) co_return nonsense();
    const std::size_t named = static_cast<unsigned char>(answer[4]);
    SKIFF_CO_TRY_VOID(co_await read((kind == kName ? named : kind == kIp4 ? 3 : 15) + 2));
    co_return Result<>{};
  }

 private:
  static constexpr char kIp4 = 1;
  static constexpr char kName = 3;
  static constexpr char kIp6 = 4;

  /// The kind and the bytes of a destination.
  static std::string place(const std::string& host) {
    std::array<char, sizeof(in6_addr)> bytes{};
    if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return kIp4 + std::string{bytes.data(), 4};
    if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return kIp6 + std::string{bytes.data(), bytes.size()};
    return kName + counted(host);
  }
  static std::string counted(const std::string& text) { return std::string(1, static_cast<char>(text.size())) + text; }
  [[nodiscard]] milliseconds left() const {
    return std::max(milliseconds{0},
                    std::chrono::duration_cast<milliseconds>(until_ - std::chrono::steady_clock::now()));
  }
  [[nodiscard]] std::unexpected<Error> nonsense() const {
    return fail(Errc::invalid_request, with_proxy(*proxy_, "does not speak SOCKS 5"));
  }

  /// Reads exactly `size` bytes: the bytes after them come from the server.
  Task<Result<std::string>> read(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size;) {
      auto got = co_await stream_->read_some(std::span{bytes}.subspan(at), left());
      if (!got) co_return fail(got.error().code, with_proxy(*proxy_, "does not answer: " + got.error().message));
      if (*got == 0) co_return nonsense();
      at += *got;
    }
    co_return bytes;
  }

  Task<Result<std::string>> ask(std::string question, std::size_t size) {
    const std::array<std::string_view, 1> parts{question};
    auto sent = co_await stream_->write(parts, left());
    if (!sent) co_return fail(sent.error().code, with_proxy(*proxy_, "does not answer: " + sent.error().message));
    co_return co_await read(size);
  }

  Stream* stream_;
  const net::Url* proxy_;
  SteadyTime until_;
};

Task<Result<Stream>> dial_through_socks(Executor executor, protocol::Resolver resolver, net::Url server, net::Url proxy,
                                        milliseconds limit) {
  const SteadyTime until = std::chrono::steady_clock::now() + limit;
  auto stream = co_await dial_directly(executor, std::move(resolver), proxy, limit);
  if (!stream) co_return fail(stream.error().code, with_proxy(proxy, "does not answer: " + stream.error().message));
  Socks socks{&*stream, &proxy, until};
  SKIFF_CO_TRY_VOID(co_await socks.connect(&server));
  co_return std::move(*stream);
}

Task<Result<Stream>> refuse_tls(net::Url proxy) {
  co_return fail(
      Errc::not_supported,
      with_proxy(proxy, "is reached by TLS (https://), which skiff can't: name its http:// or socks5:// port"));
}

}  // namespace

protocol::Dialer create_dialer(Executor executor, protocol::Resolver resolver, net::Url server,
                               std::optional<net::Url> proxy) {
  if (!proxy) {
    return [executor, resolver = std::move(resolver), server = std::move(server)](milliseconds limit) {
      return dial_directly(executor, resolver, server, limit);
    };
  }
  return [executor, resolver = std::move(resolver), server = std::move(server),
          proxy = std::move(*proxy)](milliseconds limit) {
    if (proxy.socks) return dial_through_socks(executor, resolver, server, proxy, limit);
    if (proxy.tls) return refuse_tls(proxy);
    return dial_through(executor, resolver, server, proxy, limit);
  };
}

}  // namespace skiff::kube
