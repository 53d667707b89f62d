#include "container/serve/service.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/log/log.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/api/bodies.hpp"
#include "container/serve/keys/credential.hpp"
#include "container/serve/reached.hpp"
#include "protocol/http/page.hpp"
#include "protocol/http/traceparent.hpp"
#include "protocol/service/body.hpp"
#include "protocol/service/dispatcher.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::chrono::seconds kBetweenSweeps{15};
constexpr std::size_t kLogsAtOnce = 4;
/// Each of them watches a directory, and Linux allows a user 128 of such watches.
constexpr std::size_t kMostNetworkLogs = 64;
constexpr unsigned kServerError = 500;
constexpr std::string_view kOtherMethod = "_OTHER";

/// Clients may invent methods of any length.
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
  const auto* const found = std::ranges::find(kKnown, method);
  return found == kKnown.end() ? kOtherMethod : *found;
}

/// Runs work with a cancellation state of its own: a driver disables cancellation to finish a removal, which must not
/// affect the caller.
template <class T>
Task<T> apart(Task<T> work) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await boost::asio::co_spawn(executor, std::move(work), use_task);
}

/// The holder that a request's connection counts for: the tenant, and within it the key or the link. A link is for one
/// port.
protocol::Holder place_holder(const Authorizer::Admitted& admitted, const Destination& destination) {
  const std::string& who = admitted.who;
  const bool is_key = who != kByPreview && who != kByAccessToken && who != kByTrafficToken && who != kBySignature;
  return {.who = admitted.permission.tenant,
          .part = is_key ? who : who + ' ' + destination.sandbox + ':' + std::to_string(destination.port)};
}

/// E2B's SDKs create signed URLs with the address in E2B_SANDBOX_URL, and a link has no header fields that name the
/// sandbox.
constexpr std::string_view kSignedUrl =
    "a signed URL names its sandbox only by its host: start this server with --domain, and set E2B_DOMAIN instead of "
    "E2B_SANDBOX_URL where the URL is created";

bool is_signed_url(const protocol::Target& target) {
  return target.path == "/files" && target.parameter("signature");
}

/// The page for a user who opens the address in a browser. Programs get the error for an unknown path.
protocol::HttpResponse own_page() {
  const protocol::Page page{.title = "skiff serve",
                            .paragraphs = {"This server creates sandboxes and passes requests on to them. Programs use "
                                           "it over HTTP; it has no pages of its own.",
                                           "Requests contain an API key: X-API-Key: KEY."},
                            .links = {{"/openapi.json", "The API (OpenAPI)"}, {"/healthz", "Health of this process"}}};
  return protocol::page_answer(200, page);
}

/// The end of a key, in milliseconds since 1970, that ends at this time at the latest.
std::int64_t earlier_of(std::optional<std::int64_t> end_of_key, WallTime ends) {
  const std::int64_t end = std::chrono::floor<std::chrono::milliseconds>(ends.time_since_epoch()).count();
  return std::min(end_of_key.value_or(end), end);
}

GatewayOptions gateway_options(const ServiceOptions& options) {
  GatewayOptions wanted;
  wanted.name = new_id("serve-");
  wanted.behind_proxy = options.behind_proxy;
  wanted.for_own_pages = options.for_own_pages;
  wanted.beside_own_page = options.beside_own_page;
  wanted.kept.all = std::min(wanted.kept.all, options.kept);
  return wanted;
}

}  // namespace

/// One request, and its entry in the log.
struct Service::Visit {
  Service& service;
  protocol::HttpExchange& http;
  std::optional<OwnPage> page = {};  ///< the request is the own page's
  protocol::service::Match match = {};
  const Route* route = nullptr;                 ///< null: the request is passed on, or matches none
  std::optional<Destination> destination = {};  ///< the port to which it is passed on
  std::optional<Error> misplaced = {};          ///< the parts of the request that name its destination are invalid
  Authorizer::Admitted admitted = {};           ///< its rights to the sandbox to which it is passed on
  ApiKey key = {};
  std::string request_id = new_id("r");
  std::string who = {};
  std::string key_digest = {};  ///< SHA-256 of the API key, or of the account's name
  std::string tenant = {};
  std::string sandbox = {};
  std::string path = "-";  ///< path of the route, never the client's own
  std::size_t row = 0;
  Face face = Face::own;
  std::optional<std::chrono::seconds> retry_after = {};
  SteadyTime began = std::chrono::steady_clock::now();
  Span span = {};

  [[nodiscard]] bool asks_e2b_agent() const noexcept {
    return destination && (destination->port == kE2bPort || destination->port == kE2bCodePort);
  }
};

Service::Service(Executor executor, Tenants* tenants, KeyStore* keys, Templates templates, ServiceOptions options)
    : executor_{executor},
      options_{std::move(options)},
      templates_{std::move(templates)},
      keys_{keys},
      fleet_{tenants, &keys_, &templates_},
      bring_ups_{executor},
      followers_{&fleet_, &bring_ups_},
      lists_{executor, &fleet_, [](const Sandbox& one) { return protocol::to_json(own::view_of(one)); }},
      log_turns_{executor, kLogsAtOnce},
      network_logs_{kMostNetworkLogs},
      authorizer_{executor, &fleet_, &keys_, options_.kept},
      gateway_{executor, authorizer_, gateway_options(options_)},
      until_next_sweep_{executor} {
  fleet_.audit_to(options_.audit);
}

/// The steps of a request: to the server's own API, to E2B's control API, or to a sandbox.
struct Service::Front {
  using Visit = Service::Visit;
  static constexpr std::string_view kNoSuchPath = "there is no such path: the API is listed at /openapi.json";

  static void find(Visit* visit) {
    Service& service = visit->service;
    const auto& request = visit->http.request();
    visit->row = service.stats_.no_route_row();
    auto destination = destination_of(request, service.options_.domain);
    if (!destination) {
      visit->misplaced = std::move(destination.error());
      return;
    }
    // Versions of E2B's SDKs send the fields of a sandbox to the control API, too, when they connect to it. The agent
    // has none of these paths.
    const bool may_be_for_control =
        *destination && (*destination)->by == NamedBy::fields && (*destination)->port == kE2bPort;
    if (!*destination || may_be_for_control) find_row(visit);
    if (!*destination || (visit->route != nullptr && visit->face == Face::e2b)) return;
    visit->match = {.route = service.stats_.gateway_row()};
    visit->route = nullptr;
    visit->row = service.stats_.gateway_row();
    visit->path = "gateway:" + std::to_string((*destination)->port);
    visit->sandbox = (*destination)->sandbox;
    visit->destination = std::move(**destination);
    visit->destination->source = source_of(visit->http, service.options_.behind_proxy);
    visit->face = visit->asks_e2b_agent() ? Face::e2b : Face::own;
  }

  static Result<std::optional<protocol::HttpResponse>> guard(Visit* visit) {
    if (visit->misplaced) return std::unexpected{*visit->misplaced};
    if (visit->destination) return std::nullopt;
    const auto& request = visit->http.request();
    visit->http.extra_headers().set("X-Request-Id", visit->request_id);
    if (request.target.fault) return std::unexpected{*request.target.fault};
    if (request.target.path == "/" && protocol::prefers_page(request)) return own_page();
    return std::nullopt;
  }

  static Task<Result<>> identify(Visit* visit) {
    if (visit->destination) return admit_to_sandbox(visit);
    return admit_key(visit);
  }

  static Task<Result<>> handle(Visit* visit) {
    if (visit->destination) return pass_on(visit);
    return control(visit);
  }

  static protocol::HttpResponse problem(Visit* visit, Error error) {
    const auto& request = visit->http.request();
    const bool is_away = error.code == Errc::sandbox_not_running || error.code == Errc::sandbox_not_found;
    if (visit->asks_e2b_agent() && is_away) return unreachable_answer(visit->sandbox, error.message);
    if (error.code == Errc::not_found && !visit->match.is_found() && is_signed_url(request.target)) {
      error.message = kSignedUrl;
    }
    auto answer = error_answer(visit->face, error, visit->request_id);
    if (protocol::prefers_page(request)) {
      auto page = protocol::error_page(request, answer.status, for_tenants(error), visit->request_id);
      if (const std::string_view after = answer.headers.get("Retry-After"); !after.empty()) {
        page.headers.set("Retry-After", after);
      }
      if (answer.status == 401) page.headers.set("WWW-Authenticate", "Bearer");
      answer = std::move(page);
    }
    if (visit->retry_after) answer.headers.set("Retry-After", std::to_string(visit->retry_after->count()));
    return answer;
  }

  static void tell(Visit* visit, const Result<>& outcome) {
    const auto& http = visit->http;
    if (!outcome && is_cluster_fault(outcome.error())) {
      visit->service.stats_.count_cluster_fault();
      log::error("a request failed because of the cluster", {{"request_id", visit->request_id},
                                                             {"tenant", visit->tenant},
                                                             {"sandbox", visit->sandbox},
                                                             {"error", outcome.error().message}});
    }
    // A refusal is the client's failure (OpenTelemetry, "HTTP spans").
    if (!outcome && http.status() >= kServerError) visit->span.fail(outcome.error());
    end_span(visit);
    const auto took = std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - visit->began);
    visit->service.stats_.count(visit->row, http.status(), took);
    log::info("request", {{"request_id", visit->request_id},
                          {"who", visit->who},
                          {"tenant", visit->tenant},
                          {"peer", http.peer()},
                          {"method", http.request().method},
                          {"route", visit->path},
                          {"sandbox", visit->sandbox},
                          {"status", http.status()},
                          {"took_ms", took}});
    audit(*visit, outcome, took);
  }

 private:
  /// Routes without a scope, for example probes, are not logged.
  static void audit(const Visit& visit, const Result<>& outcome, std::chrono::microseconds took) {
    const bool needs_no_key = visit.route != nullptr && !visit.route->scope;
    if (visit.service.options_.audit == nullptr || needs_no_key) return;
    const auto& http = visit.http;
    AuditedRequest request{.request_id = visit.request_id,
                           .who = visit.who,
                           .key = audited_key(visit.key_digest),
                           .tenant = visit.tenant,
                           .peer = http.peer(),
                           .forwarded_for = forwarded_for(http.request(), visit.service.options_.behind_proxy),
                           .method = http.request().method,
                           .route = visit.path,
                           .sandbox = visit.sandbox,
                           .status = http.status(),
                           .took = took,
                           .traceparent = protocol::valid_traceparent(http.request().headers.get("traceparent"))};
    if (!outcome) request.error = outcome.error().code;
    audit_request(visit.service.options_.audit, request);
  }

  static void find_row(Visit* visit) {
    visit->match = find_route(visit->http.request());
    if (!visit->match.is_found()) return;
    visit->route = &routes()[visit->match.route];
    visit->row = visit->match.route;
    visit->path = visit->route->path;
    visit->face = face_of(*visit->route);
  }

  /// Routes without a scope, and errors for unknown paths, need no key.
  static Task<Result<>> admit_key(Visit* visit) {
    if (visit->route == nullptr || !visit->route->scope) co_return Result<>{};
    Service& service = visit->service;
    SKIFF_CO_TRY(auto presented, presented_key(visit->http.request().headers));
    if (presented.empty()) co_return fail(Errc::unauthenticated, "an API key is required: X-API-Key");
    SKIFF_CO_TRY(visit->key, co_await service.keys_.find(std::move(presented),
                                                         source_of(visit->http, service.options_.behind_proxy)));
    SKIFF_CO_TRY_VOID(visit->http.mark_authenticated({.who = visit->key.tenant, .part = visit->key.name}));
    if (visit->page) visit->key.expires_ms = earlier_of(visit->key.expires_ms, visit->page->ends);
    visit->who = visit->key.name;
    visit->key_digest = visit->key.sha256;
    visit->tenant = visit->key.tenant;
    if (!visit->key.allows(*visit->route->scope)) {
      co_return fail(Errc::insufficient_scope, "this API key lacks the scope for this");
    }
    if (service.draining_) {
      visit->retry_after = std::chrono::seconds{1};
      co_return fail(Errc::draining, "this server is about to stop");
    }
    co_return Result<>{};
  }

  static Task<Result<>> control(Visit* visit) {
    const Route& route = *visit->route;
    Call call{.service = visit->service,
              .http = visit->http,
              .parameters = std::move(visit->match.parameters),
              .key = std::move(visit->key),
              .trace = visit->span.here()};
    if (!call.parameters.empty() && route.path.contains("/sandboxes/")) visit->sandbox = call.id();
    if (route.body == protocol::service::Body::json) {
      SKIFF_CO_TRY(call.body, co_await protocol::service::read_json(&visit->http, kLongestBody));
    }
    auto answer = co_await apart(route.handler(&call));
    if (!call.sandbox.empty()) visit->sandbox = std::move(call.sandbox);
    if (!answer && answer.error().code == Errc::too_many_sandboxes) {
      visit->retry_after = visit->service.fleet_.admission().retry_after(call.key, std::chrono::steady_clock::now());
    }
    if (!answer) co_return std::unexpected{std::move(answer.error())};
    if (visit->http.status() != 0) co_return Result<>{};  // the handler has sent a stream
    co_return co_await visit->http.respond(std::move(*answer));
  }

  static Task<Result<>> admit_to_sandbox(Visit* visit) {
    const Service& service = visit->service;
    const auto& request = visit->http.request();
    const bool is_tls = is_by_tls(visit->http, service.options_.behind_proxy);
    SKIFF_CO_TRY(visit->admitted, co_await visit->service.authorizer_.admit(&request, &*visit->destination, is_tls));
    protocol::Holder holder = place_holder(visit->admitted, *visit->destination);
    Permission& permission = visit->admitted.permission;
    permission.subject = holder.part;
    if (visit->page) {
      permission.for_own_page = true;
      permission.ends = std::min(permission.ends.value_or(WallTime::max()), visit->page->ends);
    }
    SKIFF_CO_TRY_VOID(visit->http.mark_authenticated(std::move(holder)));
    visit->who = visit->admitted.who;
    visit->key_digest = visit->admitted.permission.giver.key;
    visit->tenant = visit->admitted.permission.tenant;
    co_return Result<>{};
  }

  static Task<Result<>> pass_on(Visit* visit) {
    if (visit->admitted.redirect) co_return co_await visit->http.respond(std::move(*visit->admitted.redirect));
    auto passed = co_await visit->service.gateway_.pass(visit->http, *visit->destination,
                                                        std::move(visit->admitted.permission), visit->span.here());
    // The sandbox sleeps, and there is no place to start it.
    if (!passed && passed.error().code == Errc::too_many_sandboxes) visit->retry_after = Admission::kRetry;
    co_return passed;
  }

  /// Names and attributes: OpenTelemetry semantic conventions, "HTTP spans".
  static void end_span(Visit* visit) {
    Span& span = visit->span;
    if (!span) return;
    const std::string method{known_method(visit->http.request().method)};
    span.rename((method == kOtherMethod ? "HTTP" : method) + (visit->path == "-" ? "" : " " + visit->path));
    span.set("http.request.method", method);
    span.set("http.route", visit->path);
    span.set("http.response.status_code", static_cast<std::int64_t>(visit->http.status()));
    span.set("skiff.request_id", visit->request_id);
    span.set("skiff.tenant", visit->tenant);
    if (!visit->sandbox.empty()) span.set("skiff.sandbox.name", visit->sandbox);
    span.end();
  }
};

Task<> Service::answer(protocol::HttpExchange& http, std::optional<OwnPage> page) {
  Visit visit{.service = *this, .http = http, .page = page};
  if (options_.spans != nullptr) {
    const std::string_view parent = http.request().headers.get("traceparent");
    visit.span = options_.spans->begin(parent).begin("HTTP", SpanKind::server);
  }
  return protocol::service::dispatch<Front>(std::move(visit));
}

std::string Service::metrics() const {
  return stats_.text({.fleet = fleet_.counts(),
                      .reactor = reactor_,
                      .reviews = keys_.reviews(),
                      .connections = connections_ ? connections_() : 0,
                      .audit_lost = options_.audit == nullptr ? std::numeric_limits<double>::quiet_NaN()
                                                              : static_cast<double>(options_.audit->lost())});
}

void Service::drain() {
  draining_ = true;
  lists_.drain();
  until_next_sweep_.cancel();
}

Task<> Service::stop() {
  co_await bring_ups_.stop();
  co_await lists_.stop();
  co_await gateway_.stop();
  co_await keys_.stop();
  authorizer_.forget();
}

Task<> Service::keep_to_keys() {
  for (;;) {
    co_await gateway_.passages().wait_for_one();
    co_await pause(kBetweenLooks);
    auto ring = co_await apart(keys_.current());
    // If the keys cannot be read, the last ones stay valid.
    if (!ring) continue;
    const WallTime now = wall_now();
    std::set<std::string, std::less<>> good;
    for (const ApiKey& key : (*ring)->keys) {
      if (!key.has_ended(now)) good.insert(key.sha256);
    }
    gateway_.passages().end_if([&](const Giver& giver) { return !giver.key.empty() && !good.contains(giver.key); });
  }
}

Task<> Service::keep_to_accounts() {
  for (;;) {
    co_await gateway_.passages().wait_for_one();
    co_await pause(kBetweenReviews);
    for (const std::string& token : gateway_.passages().accounts()) {
      auto key = co_await apart(keys_.find(token));
      if (key || key.error().code != Errc::unauthenticated) continue;
      gateway_.passages().end_if([&](const Giver& giver) { return giver.account == token; });
    }
  }
}

/// Recreates the members of tenants' pools that were lost by a drain, a lost node or a quota.
Task<> Service::keep_pools() {
  auto health = co_await fleet_.heal_pools();
  if (health) stats_.note_pools(health->missing, health->failures);
}

Task<> Service::keep_clean() {
  while (!draining_) {
    if (auto swept = co_await apart(fleet_.sweep()); !swept) {
      log::warning("cannot look for expired sandboxes", {{"error", swept.error().message}});
    }
    co_await apart(keep_pools());
    if (draining_) break;
    until_next_sweep_.expires_after(kBetweenSweeps);
    (void)co_await until_next_sweep_.async_wait(boost::asio::as_tuple(use_task));
  }
}

}  // namespace skiff::container::serve
