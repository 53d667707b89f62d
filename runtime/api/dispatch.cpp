#include "runtime/api/dispatch.hpp"

#include <algorithm>
#include <utility>

#include "protocol/http/page.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/service/body.hpp"
#include "protocol/service/dispatcher.hpp"
#include "protocol/websocket/handshake.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/record_request.hpp"
#include "runtime/api/route.hpp"
#include "runtime/auth/own_fields.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::string_view kSessionPath = "/v1/sessions/{sid}";

/// One request while it is handled.
struct Visit {
  Agent& agent;
  mcp::Clients& mcp_clients;
  protocol::HttpExchange& http;
  protocol::service::Match match = {};
  RequestRecord record = {};
  const Route* route = nullptr;  ///< null: no route matches

  /// True if the route needs no credential.
  [[nodiscard]] bool is_open() const noexcept { return route != nullptr && !route->scope; }
  [[nodiscard]] bool passes_on() const noexcept { return route != nullptr && route->passes_on(); }
};

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
    // One of the two values would be ignored, and the client could not know which.
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

/// Makes all checks before the handler runs, and reads the body of a JSON route into the call.
Task<Result<>> admit(Call& call) {
  const auto& request = call.http.request();
  const Route& route = call.route;
  if (route.scope) {
    SKIFF_CO_TRY_VOID(require(call.identity, *route.scope));
  }
  SKIFF_CO_TRY_VOID(check_query(route, request.target, call.lenient, call.ignored));
  call.tell_ignored();
  if (call.agent.shutdown.draining() && !route.while_draining) {
    co_return fail(Errc::draining, "the agent is stopping and takes no new work");
  }
  if (route.body != Body::packed && !route.passes_on()) {
    SKIFF_CO_TRY_VOID(protocol::service::check_coding(request));
  }
  if (route.body == Body::json) {
    SKIFF_CO_TRY(call.body, co_await protocol::service::read_json(&call.http, call.agent.settings.max_json_bytes));
  }
  co_return Result<>{};
}

Result<Identity> authenticate(const Visit& visit) {
  const protocol::Headers& headers = visit.http.request().headers;
  // A proxy in front could use the other value. The parser refuses a repeated Authorization or Origin.
  if (headers.count("X-Skiff-Token") > 1) return fail(Errc::invalid_request, "X-Skiff-Token is repeated");
  CredentialHeaders shown = credential_headers(headers);
  // Authorization is then for the server that gets the request.
  if (visit.passes_on() && has_own_field(shown)) shown.authorization.reset();
  SKIFF_TRY(auto token, presented_token(shown));
  return visit.agent.access.authenticator.authenticate(token);
}

/// Connections of a credential with more scopes may replace idle ones of a credential with fewer. A client without a
/// credential counts by its address.
protocol::Holder place_holder(const Identity& identity) {
  if (identity.anonymous) return {};
  const unsigned rank = identity.scopes.allows(Scope::admin) ? 2 : identity.scopes.allows(Scope::exec) ? 1 : 0;
  return {.who = holder_of(identity), .rank = rank};
}

/// The agent's own API.
struct OwnApi {
  using Visit = api::Visit;
  static constexpr std::string_view kNoSuchPath = "there is no such path; the API is listed at /openapi.json";

  static void find(Visit* visit) {
    const auto& request = visit->http.request();
    visit->match = find_route(request.method, request.target);
    if (!visit->match.is_found()) return;
    visit->route = &routes()[visit->match.route];
    visit->record.route = visit->route->path;
    visit->record.row = visit->match.route;
    visit->record.is_aside = visit->is_open();
  }

  static Result<std::optional<protocol::HttpResponse>> guard(Visit* visit) {
    using enum BrowserGuard::Checks;
    // The server behind a port decides which pages may use it, and decodes the path itself; pages of an allowed origin
    // may use all of them. The handler checks Origin if no credential is required.
    const bool passes_on = visit->passes_on();
    SKIFF_TRY(auto verdict,
              visit->agent.access.browser_guard.judge(BrowserHead::of(visit->http), passes_on ? reading : answer));
    const auto& fault = visit->http.request().target.fault;
    if (fault && !passes_on) return std::unexpected{*fault};
    visit->http.extra_headers().append(verdict.fields);
    return std::move(verdict.preflight);
  }

  /// Answer 401 before 404, 405 and reading the body: an unauthenticated client learns nothing.
  static Task<Result<>> identify(Visit* visit) {
    if (visit->is_open()) co_return Result<>{};
    SKIFF_CO_TRY(visit->record.caller.identity, authenticate(*visit));
    co_return visit->http.mark_authenticated(place_holder(visit->record.caller.identity));
  }

  static Task<Result<>> handle(Visit* visit) {
    const Route& route = *visit->route;
    RequestRecord& record = visit->record;
    if (route.path.starts_with(kSessionPath)) record.session = visit->match.parameters.front();
    std::optional<Activity::Use> use;
    if (route.is_use && !visit->is_open()) use.emplace(visit->agent.activity);
    Call call{.agent = visit->agent,
              .mcp_clients = visit->mcp_clients,
              .http = visit->http,
              .route = route,
              .identity = record.caller.identity,
              .params = std::move(visit->match.parameters),
              .request_id = record.caller.request_id,
              .body = {},
              .lenient = visit->http.request().headers.has_token("Prefer", "handling=lenient"),
              .ignored = {},
              .command_id = {},
              .traceparent = record.caller.traceparent};
    // A relay ends its directions itself.
    if (!route.passes_on()) call.http.end_body_at(call.identity.expires);
    auto outcome = co_await admit(call);
    if (outcome) outcome = co_await route.handler(call);
    record.command = std::move(call.command_id);
    co_return outcome;
  }

  static protocol::HttpResponse problem(Visit* visit, const Error& error) {
    const auto& request = visit->http.request();
    protocol::Headers& fields = visit->http.extra_headers();
    if (is_for_later(error.code)) fields.set("Retry-After", "1");
    if (error.code == Errc::unauthenticated) {
      visit->http.close_after_response();
      fields.set("WWW-Authenticate", challenge(request.headers.contains("Authorization")));
    }
    if (error.code == Errc::upgrade_required) {
      for (const auto& [name, value] : protocol::kUpgradeHeaders) fields.set(name, value);
    }
    const std::string& id = visit->record.caller.request_id;
    return protocol::prefers_page(request) ? protocol::error_page(request, protocol::http_status(error.code), error, id)
                                           : problem_response(error, id);
  }

  static void tell(Visit* visit, const Result<>&) { record_request(visit->agent, visit->record, visit->http); }
};

}  // namespace

Task<> dispatch(Agent& agent, mcp::Clients& mcp_clients, protocol::HttpExchange& http) {
  Visit visit{.agent = agent, .mcp_clients = mcp_clients, .http = http};
  visit.record.caller = caller_of(http.request().headers);
  visit.record.row = agent.requests.no_route();
  protocol::Headers& fields = http.extra_headers();
  fields.set("X-Request-Id", visit.record.caller.request_id);
  // W3C Trace Context Level 2: the trace of this request.
  const std::string& trace = visit.record.caller.traceparent;
  if (!trace.empty()) fields.set("traceresponse", trace);
  fields.set("X-Skiff-Instance", agent.instance);
  return protocol::service::dispatch<OwnApi>(std::move(visit));
}

}  // namespace skiff::runtime::api
