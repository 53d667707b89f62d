#include "container/kube/dial.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "protocol/base64.hpp"

namespace skiff::kube {
namespace {

using protocol::HttpClient;
using protocol::Stream;
using std::chrono::milliseconds;

std::string with_proxy(const Url& proxy, std::string_view what) {
  return "the proxy " + proxy.authority() + " " + std::string{what};
}

/// Over a client that has sent nothing.
Task<Result<Stream>> dial_directly(Executor executor, protocol::Resolver resolver, Url server, milliseconds limit) {
  HttpClient client{executor,
                    {.host = server.host, .port = server.port, .resolver = std::move(resolver), .connect_time = limit}};
  if (auto connected = co_await client.connect(); !connected) co_return std::unexpected{std::move(connected.error())};
  co_return std::move(client.take_upgraded().stream);
}

/// Over a client that has sent nothing but a CONNECT.
Task<Result<Stream>> dial_through(Executor executor, protocol::Resolver resolver, Url server, Url proxy,
                                  milliseconds limit) {
  HttpClient client{executor,
                    {.host = server.host,
                     .port = server.port,
                     .dial = make_dialer(executor, std::move(resolver), proxy, std::nullopt),
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

}  // namespace

protocol::Dialer make_dialer(Executor executor, protocol::Resolver resolver, Url server, std::optional<Url> proxy) {
  if (!proxy) {
    return [executor, resolver = std::move(resolver), server = std::move(server)](milliseconds limit) {
      return dial_directly(executor, resolver, server, limit);
    };
  }
  return [executor, resolver = std::move(resolver), server = std::move(server), proxy = std::move(*proxy)](
             milliseconds limit) { return dial_through(executor, resolver, server, proxy, limit); };
}

}  // namespace skiff::kube
