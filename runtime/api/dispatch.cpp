#include "runtime/api/dispatch.hpp"

#include <algorithm>

#include "protocol/http/page.hpp"
#include "protocol/http/traceparent.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/websocket/handshake.hpp"
#include "runtime/api/account.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/match.hpp"
#include "runtime/api/request_head.hpp"
#include "runtime/api/route.hpp"
#include "runtime/auth/own_fields.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::string_view kSessionPath = "/v1/sessions/{sid}";

Result<> check_query(const Route& route, const protocol::Target& target, bool lenient,
                     std::vector<std::string>& ignored) {
  if (route.passes_on()) return {};
  for (const auto& parameter : target.query) {
    if (std::ranges::any_of(route.query, [&](const QueryParameter& known) { return known.name == parameter.name; }))
      continue;
    if (!lenient) return fail(Errc::unknown_field, "no query parameter of this name is known", parameter.name);
    ignored.push_back(parameter.name);
  }
  for (const QueryParameter& known : route.query) {
    // One of the two would be left out of account, and whoever asks can't know which.
    if (!known.repeated && std::ranges::count(target.query, known.name, &protocol::Target::Parameter::name) > 1) {
      return fail(Errc::invalid_field, "the query parameter " + std::string{known.name} + " is given more than once",
                  std::string{known.name});
    }
    if (known.required && !target.parameter(known.name)) {
      return fail(Errc::missing_field, "the query parameter " + std::string{known.name} + " is required",
                  std::string{known.name});
    }
  }
  return {};
}

/// Everything that must hold before a handler may run; leaves the body of a JSON route in the call.
Task<Result<>> admit(Call& call) {
  const auto& request = call.http.request();
  const Route& route = call.route;
  if (route.scope) {
    SKIFF_CO_TRY_VOID(require(call.identity, *route.scope));
  }
  SKIFF_CO_TRY_VOID(check_query(route, request.target, call.lenient, call.ignored));
  call.tell_ignored();
  if (call.agent.draining && !route.while_draining) {
    call.http.extra_headers().set("Retry-After", "1");
    co_return fail(Errc::draining, "the agent is stopping and takes no new work");
  }
  if (route.body != Body::packed && !route.passes_on()) {
    SKIFF_CO_TRY_VOID(check_coding(request));
  }
  if (route.body == Body::json) {
    const auto type = request.headers.find("Content-Type");
    const bool empty = request.body.kind == protocol::BodyFraming::Kind::none ||
                       (request.body.kind == protocol::BodyFraming::Kind::length && request.body.length == 0);
    if (!empty && (!type || !is_json(*type))) {
      co_return fail(Errc::unsupported_media_type,
                     "the body must be JSON and say so: -H 'Content-Type: application/json'");
    }
    SKIFF_CO_TRY(call.body, co_await call.http.read_body(call.agent.settings.max_json_bytes));
  }
  co_return Result<>{};
}

Result<Identity> identify(Agent& agent, const Route* route, const protocol::Headers& headers) {
  // Something before us could go by the other one. Of Authorization and Origin the parser sees to it.
  if (headers.count("X-Skiff-Token") > 1) return fail(Errc::invalid_request, "X-Skiff-Token is repeated");
  CredentialHeaders shown = credential_headers(headers);
  // It is for whom the request is passed on to.
  if (route != nullptr && route->passes_on() && has_own_field(shown)) shown.authorization.reset();
  SKIFF_TRY(auto token, presented_token(shown));
  return agent.authenticator.authenticate(token);
}

/// Whoever may do more takes what those leave idle who may do less. Who has shown nothing counts by his address.
protocol::Holder place_holder(const Identity& identity) {
  if (identity.anonymous) return {};
  const unsigned rank = identity.scopes.allows(Scope::admin) ? 2 : identity.scopes.allows(Scope::exec) ? 1 : 0;
  return {.who = holder_of(identity), .rank = rank};
}

/// What the logs and metrics say of a request once it was answered.
struct Account {
  std::string request_id = {};
  std::string traceparent = {};
  std::string who = {};
  std::string session = {};
  std::string command = {};
  const Route* route = nullptr;  ///< null: none matched
  SteadyTime began = std::chrono::steady_clock::now();
};

void settle(Agent& agent, const protocol::HttpExchange& http, const Account& account) {
  const bool open = account.route != nullptr && !account.route->scope;
  const std::size_t row =
      account.route != nullptr ? static_cast<std::size_t>(account.route - routes().data()) : agent.requests.no_route();
  account_for(
      agent, row,
      {.request_id = account.request_id,
       .who = account.who,
       .peer = http.peer(),
       .method = http.request().method,
       .route = account.route != nullptr ? account.route->path : "-",
       .session = account.session,
       .command = account.command,
       .traceparent = account.traceparent,
       .status = http.status(),
       .bytes = http.body_bytes_sent(),
       .duration = std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - account.began)},
      open ? Told::aside : Told::all);
}

}  // namespace

Task<> dispatch(Agent& agent, protocol::HttpExchange& http) {
  const auto& request = http.request();
  Account account{.request_id = request_id_of(request.headers),
                  .traceparent = protocol::valid_traceparent(request.headers.get("traceparent"))};
  http.extra_headers().set("X-Request-Id", account.request_id);
  // W3C Trace Context Level 2: the trace that this belongs to.
  if (!account.traceparent.empty()) http.extra_headers().set("traceresponse", account.traceparent);
  http.extra_headers().set("X-Skiff-Instance", agent.instance);

  Match found = match(request.method, request.target.segments);
  account.route = found.route;
  const bool open = found.route != nullptr && !found.route->scope;
  // Which pages may use a server behind is that server's to say: its handler asks where nobody had to show a
  // credential.
  const bool passes_on = found.route != nullptr && found.route->passes_on();
  Result<> outcome = passes_on ? check_host(agent.browser_guard, http) : check_browser(agent.browser_guard, http);
  // A server behind decodes it as it likes.
  if (outcome && !passes_on && request.target.fault) outcome = std::unexpected{*request.target.fault};
  const bool may_read = outcome && !passes_on && let_page_read(agent.browser_guard, http);
  if (may_read && is_preflight(request)) {
    auto response = preflight_answer(request);
    (void)co_await http.respond(std::move(response));
  } else if (outcome) {
    // 401 comes before 404, 405 and the body: a stranger learns nothing.
    Result<Identity> identity = open ? Result<Identity>{Identity{}} : identify(agent, found.route, request.headers);
    if (!identity) {
      outcome = std::unexpected{identity.error()};
    } else if (auto kept = open ? Result<>{} : http.vouch(place_holder(*identity)); !kept) {
      outcome = std::unexpected{kept.error()};
    } else if (found.route == nullptr) {
      if (found.allow.empty()) {
        outcome = fail(Errc::not_found, "there is no such path; the API is listed at /openapi.json");
      } else {
        http.extra_headers().set("Allow", found.allow);
        outcome = fail(Errc::method_not_allowed, "this path has: " + found.allow);
      }
    } else {
      account.who = identity->name;
      if (found.route->path.starts_with(kSessionPath)) account.session = found.params.front();
      std::optional<Activity::Use> use;
      if (found.route->is_use && !open) use.emplace(agent.activity);
      Call call{.agent = agent,
                .http = http,
                .route = *found.route,
                .identity = std::move(*identity),
                .params = std::move(found.params),
                .request_id = account.request_id,
                .body = {},
                .lenient = request.headers.has_token("Prefer", "handling=lenient"),
                .ignored = {},
                .command_id = {},
                .traceparent = account.traceparent};
      // A relay ends both of its directions by itself.
      if (!passes_on) http.end_body_at(call.identity.expires);
      outcome = co_await admit(call);
      if (outcome) outcome = co_await found.route->handler(call);
      account.command = std::move(call.command_id);
    }
  }
  if (!outcome && http.status() == 0) {
    const Error& error = outcome.error();
    if (error.code == Errc::too_many_commands || error.code == Errc::too_many_sessions ||
        error.code == Errc::too_many_connections || error.code == Errc::resource_exhausted) {
      http.extra_headers().set("Retry-After", "1");
    }
    if (error.code == Errc::unauthenticated) {
      http.close_after_response();
      http.extra_headers().set("WWW-Authenticate", challenge(request.headers.contains("Authorization")));
    }
    if (error.code == Errc::upgrade_required) {
      for (const auto& [name, value] : protocol::kUpgradeHeaders) http.extra_headers().set(name, value);
    }
    auto response = protocol::prefers_page(request)
                        ? protocol::error_page(request, protocol::http_status(error.code), error, account.request_id)
                        : problem_response(error, account.request_id);
    (void)co_await http.respond(std::move(response));
  }
  settle(agent, http, account);
}

}  // namespace skiff::runtime::api
