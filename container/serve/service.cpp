#include "container/serve/service.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/id.hpp"
#include "base/log.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/credential.hpp"
#include "protocol/http/page.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::chrono::seconds kBetweenSweeps{15};
constexpr std::size_t kLogsAtOnce = 4;
constexpr unsigned kServerError = 500;
constexpr std::string_view kOtherMethod = "_OTHER";

/// Clients may invent methods of any length.
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
  const auto* const found = std::ranges::find(kKnown, method);
  return found == kKnown.end() ? kOtherMethod : *found;
}

bool is_json(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  return type.size() >= kJson.size() && protocol::same_text(type.substr(0, kJson.size()), kJson);
}

/// What a driver has begun to end it finishes, and turns its cancellation off for that: here the caller's stays as it
/// is.
template <class T>
Task<T> apart(Task<T> work) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await boost::asio::co_spawn(executor, std::move(work), use_task);
}

/// Versions of E2B's SDKs send the fields of a sandbox to the control API, too, when they connect to it. The agent has
/// none of these paths.
bool is_for_control(const protocol::HttpRequest& request, const Placed& placed) {
  if (placed.by != PlacedBy::fields || placed.port != kE2bPort) return false;
  const Match found = match(request.method, request.target.segments);
  return found.route != nullptr && found.route->face == Face::e2b;
}

/// What a key or a link of a tenant takes is the tenant's. A link is for one port, and was given to somebody.
protocol::Holder place_holder(const Door::Admitted& admitted, const Placed& placed) {
  const std::string& who = admitted.who;
  const bool is_key = who != kByPreview && who != kByAccessToken && who != kBySignature;
  return {.who = admitted.permission.tenant,
          .part = is_key ? who : who + ' ' + placed.sandbox + ':' + std::to_string(placed.port)};
}

/// E2B's SDKs make their signed URLs with the address that E2B_SANDBOX_URL says, and no field goes with a link.
std::string_view no_such_path(const protocol::HttpRequest& request) {
  if (request.target.path == "/files" && request.target.parameter("signature")) {
    return "a signed URL tells its sandbox by its host alone: start this server with --domain, and set E2B_DOMAIN "
           "instead of E2B_SANDBOX_URL where the URL is made";
  }
  return "there is no such path: the API is listed at /openapi.json";
}

/// For somebody who opens the address in a browser. Programs get what they get for every path that is not there.
protocol::HttpResponse own_page() {
  const protocol::Page page{
      .title = "skiff serve",
      .paragraphs = {"This server creates sandboxes, and leads to what runs in them. Programs use "
                     "it over HTTP; it has no pages of its own.",
                     "Requests show an API key: X-API-Key: KEY."},
      .links = {{"/openapi.json", "The API (OpenAPI)"}, {"/healthz", "Whether it is alive"}}};
  return protocol::page_answer(200, page);
}

/// Where it comes from, as far as its client can't choose that.
std::string source_of(const protocol::HttpExchange& http, const ServiceOptions& options) {
  // Some proxies extend the client's field, and others send a second one: what the proxy says is last in both.
  std::string_view forwarded;
  for (const auto& [name, value] : http.request().headers) {
    if (protocol::same_text(name, "X-Forwarded-For")) forwarded = value;
  }
  if (!options.behind_proxy || forwarded.empty()) return http.who();
  return "for " + std::string{forwarded.substr(forwarded.rfind(',') + 1)};
}

GatewayOptions gateway_options(const ServiceOptions& options) {
  GatewayOptions wanted;
  wanted.name = new_id("serve-");
  wanted.behind_proxy = options.behind_proxy;
  wanted.kept.all = std::min(wanted.kept.all, options.kept);
  return wanted;
}

}  // namespace

/// What the log says of a request.
struct Service::Account {
  std::string request_id = {};
  std::string who = {};
  std::string tenant = {};
  std::string sandbox = {};
  std::string path = "-";  ///< of the route, never the client's own
  std::size_t row = 0;
  Face face = Face::own;
  bool asks_e2b_agent = false;
  std::optional<std::chrono::seconds> retry_after = {};
  SteadyTime began = std::chrono::steady_clock::now();
  Span span = {};
};

Service::Service(Executor executor, Tenants* tenants, KeyStore* keys, Templates templates, ServiceOptions options)
    : executor_{executor},
      options_{std::move(options)},
      templates_{std::move(templates)},
      keys_{keys},
      fleet_{tenants, &keys_, &templates_},
      bring_ups_{executor},
      followers_{&fleet_, &bring_ups_},
      log_turns_{executor, kLogsAtOnce},
      door_{executor, &fleet_, &keys_, options_.kept},
      gateway_{executor, door_, gateway_options(options_)},
      until_next_sweep_{executor} {}

Task<Result<protocol::HttpResponse>> Service::handle(protocol::HttpExchange* http, const Route* route,
                                                     std::vector<std::string> parameters, Account* account) {
  Call call{.service = *this, .http = *http, .parameters = std::move(parameters), .trace = account->span.here()};
  if (route->scope) {
    SKIFF_CO_TRY(auto presented, presented_key(http->request().headers));
    if (presented.empty()) co_return fail(Errc::unauthenticated, "show an API key: X-API-Key");
    SKIFF_CO_TRY(auto key, co_await keys_.find(std::move(presented), source_of(*http, options_)));
    SKIFF_CO_TRY_VOID(http->vouch({.who = key.tenant, .part = key.name}));
    account->who = key.name;
    account->tenant = key.tenant;
    call.key = std::move(key);
    if (!call.key.allows(*route->scope)) {
      co_return fail(Errc::insufficient_scope, "this API key lacks the scope for this");
    }
    if (draining_) {
      account->retry_after = std::chrono::seconds{1};
      co_return fail(Errc::draining, "this server is about to stop");
    }
  }
  if (!call.parameters.empty() && route->path.contains("/sandboxes/")) account->sandbox = call.id();
  if (route->takes_body) {
    SKIFF_CO_TRY(auto body, co_await http->read_body(kLongestBody));
    if (!body.empty() && !is_json(http->request().headers.get("Content-Type"))) {
      co_return fail(Errc::unsupported_media_type, "the body must be JSON and say so: Content-Type: application/json");
    }
    call.body = std::move(body);
  }
  auto answer = co_await apart(route->handler(&call));
  if (!answer && answer.error().code == Errc::too_many_sandboxes) {
    account->retry_after = fleet_.admission().retry_after(call.key, std::chrono::steady_clock::now());
  }
  co_return answer;
}

Task<Result<>> Service::control(protocol::HttpExchange* http, Account* account) {
  const auto& request = http->request();
  http->extra_headers().set("X-Request-Id", account->request_id);
  account->row = stats_.no_route_row();
  if (request.target.fault) co_return std::unexpected{*request.target.fault};
  if (request.target.path == "/" && protocol::prefers_page(request)) {
    auto page = own_page();
    co_return co_await http->respond(std::move(page));
  }
  Match found = match(request.method, request.target.segments);
  Result<protocol::HttpResponse> answer = std::unexpected{Error{}};
  if (found.route != nullptr) {
    account->row = static_cast<std::size_t>(found.route - routes().data());
    account->path = found.route->path;
    account->face = found.route->face;
    answer = co_await handle(http, found.route, std::move(found.parameters), account);
  } else if (found.allow.empty()) {
    answer = fail(Errc::not_found, std::string{no_such_path(request)});
  } else {
    http->extra_headers().set("Allow", found.allow);
    answer = fail(Errc::method_not_allowed, "this path has: " + found.allow);
  }
  if (!answer) co_return std::unexpected{std::move(answer.error())};
  if (http->status() != 0) co_return Result<>{};  // a stream, which has been sent
  co_return co_await http->respond(std::move(*answer));
}

Task<Result<>> Service::pass_on(protocol::HttpExchange* http, Placed placed, Account* account) {
  account->row = stats_.gateway_row();
  account->path = "gateway:" + std::to_string(placed.port);
  account->sandbox = placed.sandbox;
  account->asks_e2b_agent = placed.port == kE2bPort;
  if (account->asks_e2b_agent) account->face = Face::e2b;
  const bool is_tls =
      options_.behind_proxy ? http->request().headers.get("X-Forwarded-Proto") == "https" : http->is_tls();
  SKIFF_CO_TRY(auto admitted, co_await door_.admit(&http->request(), &placed, is_tls));
  protocol::Holder holder = place_holder(admitted, placed);
  admitted.permission.subject = holder.part;
  SKIFF_CO_TRY_VOID(http->vouch(std::move(holder)));
  account->who = admitted.who;
  account->tenant = admitted.permission.tenant;
  if (admitted.redirect) co_return co_await http->respond(std::move(*admitted.redirect));
  auto passed = co_await gateway_.pass(*http, std::move(placed), std::move(admitted.permission), account->span.here());
  // One that sleeps, and finds no place.
  if (!passed && passed.error().code == Errc::too_many_sandboxes) account->retry_after = Admission::kRetry;
  co_return passed;
}

protocol::HttpResponse Service::refusal(const protocol::HttpRequest& request, const Error& error,
                                        const Account& account) const {
  const bool is_away = error.code == Errc::sandbox_not_running || error.code == Errc::sandbox_not_found;
  if (account.asks_e2b_agent && is_away) return unreachable_answer(account.sandbox, error.message);
  auto answer = error_answer(account.face, error, account.request_id);
  if (protocol::prefers_page(request)) {
    auto page = protocol::error_page(request, answer.status, for_tenants(error), account.request_id);
    if (const std::string_view after = answer.headers.get("Retry-After"); !after.empty()) {
      page.headers.set("Retry-After", after);
    }
    if (answer.status == 401) page.headers.set("WWW-Authenticate", "Bearer");
    answer = std::move(page);
  }
  if (account.retry_after) answer.headers.set("Retry-After", std::to_string(account.retry_after->count()));
  return answer;
}

Task<> Service::answer(protocol::HttpExchange& http) {
  Account account{.request_id = new_id("r")};
  if (options_.spans != nullptr) {
    const std::string_view parent = http.request().headers.get("traceparent");
    account.span = options_.spans->begin(parent).begin("HTTP", SpanKind::server);
  }
  auto placed = place(http.request(), options_.domain);
  Result<> done;
  if (!placed) {
    account.row = stats_.no_route_row();
    done = std::unexpected{std::move(placed.error())};
  } else if (*placed && !is_for_control(http.request(), **placed)) {
    (*placed)->source = source_of(http, options_);
    done = co_await pass_on(&http, std::move(**placed), &account);
  } else {
    done = co_await control(&http, &account);
  }
  if (!done && is_cluster_fault(done.error())) {
    stats_.count_cluster_fault();
    log::error("the cluster does not do its part", {{"request_id", account.request_id},
                                                    {"tenant", account.tenant},
                                                    {"sandbox", account.sandbox},
                                                    {"error", done.error().message}});
  }
  if (!done && http.status() == 0) {
    (void)co_await http.respond(refusal(http.request(), done.error(), account));
  }
  // A refusal is the client's failure (OpenTelemetry, "HTTP spans").
  if (!done && http.status() >= kServerError) account.span.fail(done.error());
  settle(http, account);
}

/// Names and attributes: OpenTelemetry semantic conventions, "HTTP spans".
void Service::end_span(const protocol::HttpExchange& http, Account& account) {
  if (!account.span) return;
  const std::string method{known_method(http.request().method)};
  account.span.rename((method == kOtherMethod ? "HTTP" : method) + (account.path == "-" ? "" : " " + account.path));
  account.span.set("http.request.method", method);
  account.span.set("http.route", account.path);
  account.span.set("http.response.status_code", static_cast<std::int64_t>(http.status()));
  account.span.set("skiff.request_id", account.request_id);
  account.span.set("skiff.tenant", account.tenant);
  if (!account.sandbox.empty()) account.span.set("skiff.sandbox.name", account.sandbox);
  account.span.end();
}

void Service::settle(const protocol::HttpExchange& http, Account& account) {
  end_span(http, account);
  const auto took = std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - account.began);
  stats_.count(account.row, http.status(), took);
  log::info("request", {{"request_id", account.request_id},
                        {"who", account.who},
                        {"tenant", account.tenant},
                        {"peer", http.peer()},
                        {"method", http.request().method},
                        {"route", account.path},
                        {"sandbox", account.sandbox},
                        {"status", http.status()},
                        {"took_ms", took}});
}

void Service::drain() {
  draining_ = true;
  until_next_sweep_.cancel();
}

Task<> Service::stop() {
  co_await bring_ups_.stop();
  co_await gateway_.stop();
  door_.forget();
}

Task<> Service::keep_to_keys() {
  for (;;) {
    co_await gateway_.passages().wait_for_one();
    co_await pause(kBetweenLooks);
    auto ring = co_await apart(keys_.current());
    // When they can't be read, those before stay.
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

/// What a drain, a lost node or a quota took from the pools of tenants is made again.
Task<> Service::keep_pools() {
  auto health = co_await fleet_.heal_pools();
  if (health) stats_.note_pools(health->missing, health->failures);
}

Task<> Service::keep_clean() {
  while (!draining_) {
    if (auto swept = co_await apart(fleet_.sweep()); !swept) {
      log::warning("what is over can't be looked for", {{"error", swept.error().message}});
    }
    co_await apart(keep_pools());
    if (draining_) break;
    until_next_sweep_.expires_after(kBetweenSweeps);
    (void)co_await until_next_sweep_.async_wait(boost::asio::as_tuple(use_task));
  }
}

}  // namespace skiff::container::serve
