#include "container/served/port_relay.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/unique_fd.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/relay.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using protocol::HttpClient;
using protocol::HttpExchange;
using protocol::HttpResponse;

/// In Via (RFC 9110, 7.6.3).
constexpr std::string_view kPseudonym = "skiff-forward";
constexpr std::string_view kKeyField = "X-API-Key";
constexpr auto kAnswerTime = 300s;
constexpr auto kStallTime = 30s;

/// Whoever has the other end of a socketpair(2).
protocol::Address nameless() {
  sockaddr_storage unnamed{};
  unnamed.ss_family = AF_UNIX;
  return protocol::Address::from_socket(unnamed, sizeof(sa_family_t));
}

/// For who speaks to the port on this machine, and expects no words of ours.
HttpResponse plain_answer(unsigned status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}},
          .body = "skiff: " + error.message + "\n"};
}

HttpResponse answer_of_no_request(unsigned status, const Error& error) {
  return plain_answer(status, {error.code,
                               "ports are forwarded through `skiff serve` as HTTP/1.1 and what that is "
                               "upgraded to, and this is neither: " +
                                   error.message});
}

}  // namespace

Result<protocol::Stream> PortRelay::connect(const std::string& path) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()) != 0) {
    return std::unexpected{system_error(errno, "make a connection")};
  }
  UniqueFd ours{sockets[0]};
  UniqueFd theirs{sockets[1]};
  server_of(path).serve(std::move(ours), nameless());
  return protocol::Stream{executor_, std::move(theirs), path};
}

protocol::HttpServer& PortRelay::server_of(const std::string& path) {
  auto& server = servers_[path];
  if (!server) {
    server = std::make_unique<protocol::HttpServer>(
        executor_,
        protocol::HttpServerOptions{.handler = [this, path](HttpExchange& http) { return answer(&http, path); },
                                    .error_response = &answer_of_no_request});
  }
  return *server;
}

Task<> PortRelay::answer(HttpExchange* http, std::string path) {
  // Whoever got as far as this machine's port is meant to.
  Result<> passed = http->vouch();
  if (passed) passed = co_await pass_on(http, std::move(path));
  if (passed || http->status() != 0) co_return;
  (void)co_await http->respond(plain_answer(protocol::http_status(passed.error().code), passed.error()));
}

Task<Result<>> PortRelay::pass_on(HttpExchange* http, std::string path) {
  const protocol::HttpRequest& request = http->request();
  if (!request.target.path.starts_with('/')) {
    co_return fail(Errc::invalid_request, "only a path can be asked of a sandbox's port");
  }
  protocol::Headers fields = protocol::forwarded_request(
      request, {.name = kPseudonym, .peer = {}, .scheme = "http", .prefix = {}, .first = true});
  fields.remove(kKeyField);
  SKIFF_CO_TRY(auto credentials, server_->credentials());
  fields.append(credentials);

  protocol::HttpClientOptions options = server_->connection();
  options.idle_time = kStallTime;
  options.read_idle_time = protocol::kForever;
  HttpClient gateway{executor_, std::move(options)};
  HttpClient::Request passed_on{.method = request.method,
                                .target = server_->path_prefix() + path + protocol::target_behind(request, 0),
                                .headers = std::move(fields),
                                .body = {}};
  protocol::RelayOptions how{.answer_time = kAnswerTime,
                             .upgraded = [](protocol::Upgraded client, protocol::Upgraded behind) {
                               return protocol::carry(std::move(client), std::move(behind),
                                                      {.stall = kStallTime, .silent = kAnswerTime}, std::nullopt);
                             }};
  auto passed = co_await protocol::relay(http, &gateway, std::move(passed_on), std::move(how));
  if (!passed && passed.error().code == Errc::io_error) {
    co_return fail(Errc::bad_gateway, "the server at " + server_->url() + " can't be asked: " + passed.error().message);
  }
  co_return passed;
}

Task<> PortRelay::close() {
  for (auto& [path, server] : servers_) co_await server->stop();
  servers_.clear();
}

}  // namespace skiff::container
