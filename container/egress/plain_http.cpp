#include "container/egress/plain_http.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "container/egress/passing.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/server/connection.hpp"
#include "protocol/http/server/relay.hpp"

namespace skiff::container::egress {
namespace {

using protocol::HttpExchange;

constexpr std::string_view kScheme = "http://";

/// The server of a request in a tunnel, whose Host must be the tunnel's.
std::expected<Target, Refusal> target_in_tunnel(const protocol::HttpRequest& request, const Target& tunnel) {
  if (!request.target_text.starts_with('/')) {
    return std::unexpected{Refusal{400, "bad_target", "the target of a request in a tunnel begins with a slash"}};
  }
  const auto named = Target::plain(request.host);
  if (named && named->text() == tunnel.text()) return tunnel;
  return std::unexpected{
      Refusal{421, "host_mismatch", "the request is for another host than its tunnel, " + tunnel.text()}};
}

/// The server of a request, from the absolute URL in its first line.
std::expected<Target, Refusal> target_of(const protocol::HttpRequest& request, const std::optional<Target>& tunnel) {
  if (tunnel) return target_in_tunnel(request, *tunnel);
  if (!protocol::same_text(std::string_view{request.target_text}.substr(0, kScheme.size()), kScheme)) {
    return std::unexpected{Refusal{400, "bad_target", "the target of a request is not an http:// URL"}};
  }
  auto target = Target::plain(request.target.authority);
  if (!target) return std::unexpected{Refusal{400, "bad_target", target.error().message}};
  return std::move(*target);
}

Task<> refuse(PlainHttp* proxy, HttpExchange* http, Target target, Refusal refusal) {
  proxy->refused(refusal);
  http->close_after_response();
  (void)co_await http->respond(answer(refusal, target));
}

Task<> pass(PlainHttp* proxy, HttpExchange* http, Target target, protocol::Stream connected) {
  const Executor executor = http->executor();
  protocol::HttpClient server{executor, server_options(target, std::move(connected))};
  protocol::HttpClient::Request request{.method = http->request().method,
                                        .target = protocol::target_behind(http->request(), 0),
                                        .headers = fields_for_server(http->request()),
                                        .body = {}};
  request.headers.set("Connection", "close");
  protocol::RelayOptions options{.answer_time = kAnswer};
  auto passed = co_await protocol::relay(http, &server, std::move(request), std::move(options));
  if (passed || http->status() != 0) co_return;
  if (auto refusal = refusal_of(passed.error())) {
    co_await refuse(proxy, http, std::move(target), std::move(*refusal));
  }
}

Task<> handle(PlainHttp* proxy, HttpExchange* http) {
  // The connection is the sandbox's, and has a slot of its own.
  if (!http->mark_authenticated({.who = proxy->holder})) co_return;
  auto target = target_of(http->request(), proxy->tunnel);
  if (!target) {
    co_await refuse(proxy, http, {}, std::move(target.error()));
    co_return;
  }
  auto connected = co_await proxy->reach(*target);
  if (connected) {
    co_await pass(proxy, http, std::move(*target), std::move(*connected));
  } else {
    co_await refuse(proxy, http, std::move(*target), std::move(connected.error()));
  }
  proxy->is_over();
}

}  // namespace

Task<> serve_plain_http(protocol::Stream client, std::string already_read, PlainHttp proxy) {
  protocol::HttpService service{
      .options = {
          .limits = {.header_bytes = kMostOfHead, .target_bytes = kMostOfTarget, .write_stall_time = kNoProgress},
          .takes_faulty_targets = true,
          .received = proxy.budget,
          .handler = [&proxy](HttpExchange& http) { return handle(&proxy, &http); },
          .error_response =
              [&proxy](unsigned status, const Error& error) {
                const Refusal refusal{status, "bad_request", error.message};
                proxy.refused(refusal);
                return answer(refusal, {});
              }}};
  protocol::ConnectionSlots slots{{.authenticated = 1, .strangers = 1}};
  protocol::ConnectionSlots::Slot slot{slots, {}, [] {}};
  protocol::HttpConnection connection{std::move(client), service, slot};
  connection.begin_with(already_read);
  co_await connection.run();
}

}  // namespace skiff::container::egress
