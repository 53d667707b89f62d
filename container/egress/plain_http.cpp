#include "container/egress/plain_http.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/server/connection.hpp"
#include "protocol/http/server/relay.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Headers;
using protocol::HttpExchange;

constexpr std::chrono::milliseconds kNoProgress{60'000};
constexpr std::chrono::milliseconds kAnswer{300'000};
constexpr std::string_view kScheme = "http://";
/// Its name in Via, which a proxy must add (RFC 9110, 7.6.3).
constexpr std::string_view kVia = "skiff-egress";

/// The server of a request, from the absolute URL in its first line.
std::expected<Target, Refusal> target_of(const protocol::HttpRequest& request) {
  if (!protocol::same_text(std::string_view{request.target_text}.substr(0, kScheme.size()), kScheme)) {
    return std::unexpected{Refusal{400, "bad_target", "the target of a request is not an http:// URL"}};
  }
  auto target = Target::plain(request.target.authority);
  if (!target) return std::unexpected{Refusal{400, "bad_target", target.error().message}};
  return std::move(*target);
}

/// The fields for the server: without those of the client's connection, and without a word about the client.
Headers fields_for_server(const protocol::HttpRequest& request) {
  Headers fields =
      protocol::forwarded_request(request, {.name = kVia, .peer = {}, .scheme = {}, .prefix = {}, .first = true});
  std::vector<std::string> dropped{"Upgrade", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"};
  for (const auto [name, value] : fields) {
    if (protocol::same_text(name.substr(0, 6), "proxy-")) dropped.emplace_back(name);
  }
  for (const std::string& name : dropped) fields.remove(name);
  fields.set("Connection", "close");
  return fields;
}

Task<Result<protocol::Stream>> give(std::shared_ptr<protocol::Stream> connection) {
  co_return std::move(*connection);
}

/// The refusal for an exchange that failed before its answer; nullopt: the client has gone.
std::optional<Refusal> refusal_of(const Error& error) {
  switch (error.code) {
    case Errc::cancelled:
      return std::nullopt;
    case Errc::invalid_request:
      return Refusal{400, "bad_request", error.message};
    case Errc::request_timeout:
      return Refusal{408, "timeout", error.message};
    case Errc::timeout:
      return Refusal{504, "timeout", error.message};
    default:
      return Refusal{502, "bad_answer", error.message};
  }
}

Task<> refuse(PlainHttp* proxy, HttpExchange* http, Target target, Refusal refusal) {
  proxy->refused(refusal);
  http->close_after_response();
  (void)co_await http->respond(answer(refusal, target));
}

Task<> pass(PlainHttp* proxy, HttpExchange* http, Target target, protocol::Stream connected) {
  const Executor executor = http->executor();
  protocol::HttpClient server{executor,
                              {.host = target.host,
                               .port = target.port,
                               .dial = [stream = std::make_shared<protocol::Stream>(std::move(connected))](
                                           std::chrono::milliseconds) { return give(stream); },
                               .idle_time = kNoProgress,
                               .read_idle_time = protocol::kForever,
                               .bare_feeds = true}};
  protocol::HttpClient::Request request{.method = http->request().method,
                                        .target = protocol::target_behind(http->request(), 0),
                                        .headers = fields_for_server(http->request()),
                                        .body = {}};
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
  auto target = target_of(http->request());
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
