#include "container/serve/gateway/gateway.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/event.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "base/async/with_timeout.hpp"
#include "base/scope_counter.hpp"
#include "container/serve/gateway/credential_fields.hpp"
#include "container/serve/gateway/preview.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/traceparent.hpp"

namespace skiff::container::serve {
namespace {

using protocol::Headers;
using protocol::HttpClient;
using protocol::HttpClientOptions;

/// Long enough for most sandboxes to start, and short enough for clients to wait.
constexpr std::string_view kRetryAfter = "2";

/// The fields that have led the request to this gateway. They are not passed on, because another gateway behind it
/// would use them again.
constexpr std::array<std::string_view, 6> kPlacing{"E2b-Sandbox-Id",      "E2b-Sandbox-Port", "X-Sandbox-ID",
                                                   "X-Sandbox-Namespace", "X-Sandbox-Port",   "X-Sandbox-Pod-IP"};
/// The subprotocol that carries an agent's token (runtime/auth/credentials.hpp).
constexpr std::string_view kBearerSubprotocol = "skiff.bearer.";

bool has_word(std::string_view words, std::string_view wanted) {
  return std::ranges::any_of(std::views::split(words, ' '),
                             [&](const auto& part) { return std::string_view{part.begin(), part.end()} == wanted; });
}

/// The kind of server at a sandbox's port.
enum class Behind : std::uint8_t {
  agent,    ///< the agent's own API
  dialect,  ///< another protocol of the agent
  server,   ///< a program in the sandbox
};

Behind what_is_behind(std::uint16_t port, const GatewayOptions& options) {
  if (port == options.agent_port) return Behind::agent;
  return std::ranges::count(options.dialect_ports, port) > 0 ? Behind::dialect : Behind::server;
}

/// A right to reach one port is not a right to the agent's API, which leads to all ports.
Result<> check_scope(Behind what, const std::string& scope) {
  const auto has = [&scope](std::string_view word) { return has_word(scope, word); };
  const auto needs = [](std::string_view words) {
    return fail(Errc::insufficient_scope, "this port of a sandbox needs the scope " + std::string{words});
  };
  if (has("admin")) return {};
  switch (what) {
    case Behind::agent:
      if (!has("read") && !has("exec")) return needs("read or exec");
      break;
    case Behind::dialect:
      if (!has("exec")) return needs("exec");
      break;
    case Behind::server:
      if (!has("ports")) return needs("ports");
      break;
  }
  return {};
}

}  // namespace

/// One request that is passed on.
struct Gateway::Passage {
  protocol::HttpExchange& http;
  Destination destination;
  Permission permission;
  Behind behind;
  WallTime ends;
  std::string target;              ///< request target for the server at the port
  TraceParent trace;               ///< empty where nothing is traced
  bool by_new_connection = false;  ///< do not use a kept connection
  bool was_lost = false;           ///< a kept connection ended before the server answered

  [[nodiscard]] SandboxRef of() const { return {.tenant = permission.tenant, .sandbox = destination.sandbox}; }
};

/// The connection to the server, and the additions to a request on it.
struct Gateway::Way {
  HttpClientOptions client;
  KeptConnections::Key place = {};
  std::optional<SteadyTime> kept_since = {};  ///< when the kept connection was opened; empty: open a new one
  std::string path_prefix = {};
  Headers fields = {};  ///< replace the client's
};

namespace {

/// The client's fields that are passed on.
Headers fields_behind(const protocol::HttpRequest& request, const protocol::Forwarder& by,
                      const std::vector<std::string>& credentials, Behind behind) {
  Headers fields = protocol::forwarded_request(request, by);
  for (const std::string_view name : kPlacing) fields.remove(name);
  for (const std::string& name : credentials) fields.remove(name);
  remove_credentials(fields, behind == Behind::dialect);
  protocol::remove_members(fields, "Sec-WebSocket-Protocol", kBearerSubprotocol);
  // The connection is kept for the next request.
  protocol::remove_members(fields, "Connection", "close");
  remove_preview_cookie(fields);
  remove_preview_links(fields);
  return fields;
}

/// Our fields replace all fields of the client with the same name.
void put(Headers& fields, const Headers& ours) {
  for (const auto [name, value] : ours) fields.remove(name);
  fields.append(ours);
}

/// Removes fields of the application that the agent would take for its own. Also removes Origin, which its API would
/// check: the client has shown a key, so the request does not depend on a page's cookies.
void remove_application_fields(Headers& fields) {
  for (const std::string_view name : {"Authorization", "Cookie", "Origin"}) fields.remove(name);
}

/// A dialer's result from an existing connection, which can be used once.
Task<Result<protocol::Stream>> give(std::shared_ptr<protocol::Stream> connection) {
  if (!connection->is_open()) co_return fail(Errc::io_error, "the connection was used");
  co_return std::move(*connection);
}

/// True if a client may repeat the request itself without knowing whether it took effect (RFC 9110, 9.2.2).
bool may_be_repeated(const protocol::HttpRequest& request) {
  constexpr std::array<std::string_view, 5> kIdempotent{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return request.body.kind == protocol::BodyFraming::Kind::none &&
         std::ranges::count(kIdempotent, std::string_view{request.method}) > 0;
}

/// A host that names a port is an origin of its own, and not that of this server's pages.
void (*change_of_answers(const GatewayOptions& options, const Destination& destination,
                         const Permission& permission))(Headers&) {
  if (destination.by == NamedBy::host) return keep_cookies_of_others;
  if (options.for_own_pages || permission.for_own_page) return keep_to_content;
  return options.beside_own_page ? keep_from_running : keep_cookies_of_others;
}

/// Begins a span; empty where nothing is traced.
Span begin_span(const TraceParent& at, std::string_view what, const Destination& destination, SpanKind kind) {
  if (!at) return {};
  Span span = at.begin(what, kind);
  span.set("skiff.sandbox.name", destination.sandbox);
  span.set("skiff.sandbox.port", std::int64_t{destination.port});
  return span;
}

/// `tracestate` is passed on only with a valid `traceparent` (W3C Trace Context, section 4.3).
void put_traceparent(Headers& fields, const TraceParent& here) {
  if (protocol::valid_traceparent(fields.get("traceparent")).empty()) fields.remove("tracestate");
  fields.set("traceparent", here.traceparent());
}

constexpr std::string_view kRightIsGone = "this credential is not valid any more";

Task<> note_whether(Task<bool> left, bool* has_left, Event* changed) {
  if (!co_await std::move(left)) co_return;
  *has_left = true;
  changed->notify_all();
}

/// Ends when the client has left, or when its right has ended, which `changed` signals.
Task<bool> left_or_ended(Task<bool> left, const Passages::Passage* right, Event* changed) {
  bool has_left = false;
  auto either = [&](this auto) -> Task<bool> {
    while (!has_left && !right->is_ended()) co_await changed->wait();
    co_return true;
  };
  co_return co_await run_beside(note_whether(std::move(left), &has_left, changed), either());
}

Task<Result<protocol::Stream>> dial_within(std::chrono::milliseconds limit, Task<Result<protocol::Stream>> dialled) {
  auto stream = co_await within(std::chrono::steady_clock::now() + limit, std::move(dialled));
  if (stream) co_return std::move(*stream);
  co_return fail(Errc::timeout, "the sandbox accepted no connection for " + std::to_string(limit.count()) + " ms");
}

}  // namespace

Gateway::Gateway(Executor executor, Sandboxes& sandboxes, GatewayOptions options)
    : executor_{executor},
      sandboxes_{sandboxes},
      options_{std::move(options)},
      wakes_{executor, options_.wake},
      kept_{executor, options_.kept},
      passages_{executor},
      large_blocks_{options_.large_blocks} {}

Task<> Gateway::stop() {
  kept_.clear();
  return wakes_.stop();
}

Task<Result<>> Gateway::pass(protocol::HttpExchange& http, Destination destination, Permission permission,
                             TraceParent trace) {
  const protocol::HttpRequest& request = http.request();
  const Behind what = what_is_behind(destination.port, options_);
  SKIFF_CO_TRY_VOID(check_scope(what, permission.scope));
  if (protocol::has_passed(request.headers, options_.name)) {
    co_return fail(Errc::invalid_request, "the request has passed through this server before: a sandbox sends it back");
  }
  SKIFF_CO_TRY(auto target, target_at(request, destination));
  const WallTime now = wall_now();
  const WallTime ends = std::min(permission.ends.value_or(WallTime::max()), now + options_.longest);
  if (ends <= now) co_return fail(Errc::unauthenticated, "this credential has expired");

  Passage passage{.http = http,
                  .destination = std::move(destination),
                  .permission = std::move(permission),
                  .behind = what,
                  .ends = ends,
                  .target = without_preview(target),
                  .trace = std::move(trace),
                  // An upgraded connection cannot be returned, so use a new one.
                  .by_new_connection = request.headers.contains("Upgrade")};
  auto passed = co_await pass_by_kept_or_new(&passage);
  const bool is_asleep = !passed && passed.error().code == Errc::sandbox_not_running && http.status() == 0;
  if (!is_asleep || options_.for_own_pages || passage.permission.for_own_page) co_return passed;
  auto woken = co_await wake(&passage);
  if (!woken) co_return woken;
  co_return co_await pass_by_kept_or_new(&passage);
}

Task<Result<>> Gateway::pass_by_kept_or_new(Passage* passage) {
  auto passed = co_await pass_once(passage);
  if (!passage->was_lost) co_return passed;
  passage->was_lost = false;
  passage->by_new_connection = true;
  co_return co_await pass_once(passage);
}

Task<Result<>> Gateway::wake(const Passage* passage) {
  Wakes::Start start = [this, of = passage->of()] { return sandboxes_.start(of); };
  Span span = begin_span(passage->trace, "wake sandbox", passage->destination, SpanKind::internal);
  Event changed{executor_};
  const Passages::Passage waits{&passages_, passage->permission.giver, [&changed] { changed.notify_all(); }};
  auto woken = co_await wakes_.wake({.tenant = passage->permission.tenant, .sandbox = passage->destination.sandbox},
                                    std::move(start), left_or_ended(passage->http.peer_closed(), &waits, &changed));
  if (waits.is_ended()) woken = fail(Errc::unauthenticated, std::string{kRightIsGone});
  span.note(woken);
  if (!woken && woken.error().code == Errc::sandbox_starting) {
    passage->http.extra_headers().set("Retry-After", kRetryAfter);
  }
  co_return woken;
}

Task<Result<Gateway::Way>> Gateway::way_to(const Passage* passage) {
  SandboxRef of = passage->of();
  KeptConnections::Key place{.tenant = of.tenant, .sandbox = of.sandbox, .run = {}, .port = passage->destination.port};
  SKIFF_CO_TRY(place.run, co_await sandboxes_.run_of(std::move(of)));
  std::optional<KeptConnections::Connection> kept;
  if (!passage->by_new_connection) kept = kept_.take(place);
  Way way;
  if (passage->behind == Behind::dialect) {
    way.client.host = "localhost";
    way.client.port = passage->destination.port;
    way.client.dial = [this, of = passage->of(), port = passage->destination.port](std::chrono::milliseconds limit) {
      return dial_within(limit, sandboxes_.dial(of, port));
    };
  } else {
    SKIFF_CO_TRY(auto to_agent, co_await way_to_agent(passage, kept ? Look::known : Look::anew));
    way = std::move(to_agent);
  }
  if (kept && !way.client.tls) {
    way.kept_since = kept->made;
    way.client.dial = [stream = std::make_shared<protocol::Stream>(std::move(kept->stream))](
                          std::chrono::milliseconds) { return give(stream); };
  }
  way.place = std::move(place);
  way.client.connect_time = options_.connect_time;
  way.client.idle_time = options_.stall_time;
  way.client.read_idle_time = protocol::kForever;
  co_return way;
}

Task<Result<Gateway::Way>> Gateway::way_to_agent(const Passage* passage, Look look) {
  const bool is_api = passage->behind == Behind::agent;
  const auto left = std::chrono::ceil<std::chrono::seconds>(passage->ends - wall_now());
  TokenGrant grant{.scope = is_api ? passage->permission.scope : "ports",
                   .lifetime = std::max(left, std::chrono::seconds{1}),
                   .subject = passage->permission.subject};
  SKIFF_CO_TRY(auto endpoint, co_await sandboxes_.agent(passage->of(), std::move(grant), look));
  Way way{.client = std::move(endpoint.client),
          .path_prefix = std::move(endpoint.path_prefix),
          .fields = std::move(endpoint.headers)};
  if (endpoint.fresh_headers) {
    SKIFF_CO_TRY(auto fresh, co_await endpoint.fresh_headers());
    way.fields.append(fresh);
  }
  SKIFF_CO_TRY(auto token, endpoint.token());
  // Not in Authorization, which belongs to the application.
  way.fields.add("X-Skiff-Token", token);
  if (!is_api) way.path_prefix += "/v1/ports/" + std::to_string(passage->destination.port);
  co_return way;
}

Task<Result<>> Gateway::pass_once(Passage* passage) {
  SKIFF_CO_TRY(auto way, co_await way_to(passage));
  protocol::HttpExchange& http = passage->http;
  const std::string peer = protocol::peer_host(http.peer());
  const std::string prefix = prefix_of(passage->destination);
  Headers fields = fields_behind(http.request(),
                                 {.name = options_.name,
                                  .peer = peer,
                                  .scheme = http.is_tls() ? "https" : "http",
                                  .prefix = prefix,
                                  .first = !options_.behind_proxy},
                                 passage->permission.credential_fields, passage->behind);
  if (passage->behind == Behind::agent) remove_application_fields(fields);
  // Empty for a port with a host of its own; without the field the agent would set its own prefix.
  if (!fields.contains("X-Forwarded-Prefix")) fields.add("X-Forwarded-Prefix", "");
  put(fields, way.fields);
  put(fields, passage->permission.fields_behind);
  Span span = begin_span(passage->trace, "request to sandbox", passage->destination, SpanKind::client);
  if (span) put_traceparent(fields, span.here());

  const SteadyTime made = way.kept_since.value_or(std::chrono::steady_clock::now());
  HttpClient server{executor_, std::move(way.client)};
  HttpClient::Request passed_on{.method = http.request().method,
                                .target = way.path_prefix + passage->target,
                                .headers = std::move(fields),
                                .body = {}};
  const WallTime ends = passage->ends;
  const Passages::Passage open{&passages_, passage->permission.giver, [&http, &server] {
                                 server.close();
                                 // A client without an answer gets an error with the reason.
                                 if (http.status() != 0) http.cancel();
                               }};
  protocol::RelayOptions options{
      .answer_time = options_.answer_time,
      .probe_idle = options_.probe_idle,
      .ends = ends,
      .large_blocks = &large_blocks_,
      .change_answer = change_of_answers(options_, passage->destination, passage->permission),
      .trailer_fields = [](Headers& trailers) { remove_credentials(trailers, false); },
      .upgraded = [this, ends, giver = passage->permission.giver](
                      protocol::Upgraded client,
                      protocol::Upgraded behind) { return carry(ends, giver, std::move(client), std::move(behind)); }};
  auto passed = co_await protocol::relay(&http, &server, std::move(passed_on), std::move(options));
  if (!passed && open.is_ended()) passed = fail(Errc::unauthenticated, std::string{kRightIsGone});
  if (!passed && passed.error().code == Errc::io_error) passed.error().code = Errc::bad_gateway;
  if (span) span.set("http.response.status_code", static_cast<std::int64_t>(http.status()));
  span.note(passed);
  if (passed && server.connected()) {
    auto idle = server.take_upgraded();
    // Bytes behind the answer would be taken for the next one.
    if (idle.buffered.empty()) kept_.keep(std::move(way.place), {std::move(idle.stream), made});
  }
  passage->was_lost = !passed && way.kept_since && passed.error().code == Errc::bad_gateway && http.status() == 0 &&
                      !server.answer_begun() && may_be_repeated(http.request());
  co_return passed;
}

Task<> Gateway::carry(WallTime ends, Giver giver, protocol::Upgraded client, protocol::Upgraded server) {
  const ScopeCounter open{upgraded_};
  TaskGroup group{executor_};
  const Passages::Passage passage{&passages_, std::move(giver), [&group] { group.cancel(); }};
  const protocol::TunnelLimits limits{.stall = options_.answer_time, .silent = options_.answer_time};
  auto both = [&] {
    group.spawn("upgraded connection", protocol::carry(std::move(client), std::move(server), limits, ends));
    return group.join();
  };
  co_await finally(std::move(both), [&] { return end_tasks(&group); });
}

}  // namespace skiff::container::serve
