#include "container/console/served_console.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/id.hpp"
#include "base/log/log.hpp"
#include "container/console/guard.hpp"
#include "container/console/page_files.hpp"
#include "container/console/sign_in_page.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/audit.hpp"
#include "container/serve/gateway/destination.hpp"
#include "container/serve/reached.hpp"
#include "protocol/http/page.hpp"
#include "protocol/json/problem.hpp"

namespace skiff::container::console {
namespace {

using protocol::HttpExchange;
using protocol::HttpRequest;
using protocol::HttpResponse;

/// The route in the logs of requests that the console itself refuses, whatever they were for.
constexpr std::string_view kRefused = "console";
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

bool is_read(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// The browser may have a session: it sends no SameSite=Strict cookie for a link on another site's page.
bool may_hide_session(const HttpRequest& request) {
  const std::string_view site = request.headers.get("Sec-Fetch-Site");
  return site == "cross-site" || site == "same-site";
}

/// The error as a problem for scripts; an unauthenticated one learns where to sign in.
HttpResponse problem(const Error& error) {
  auto answer = serve::error_answer(serve::Face::own, error, {});
  if (error.code == Errc::unauthenticated) {
    answer.headers.set("Link", "<" + std::string{kSignInPath} + ">; rel=\"sign-in\"");
  }
  return answer;
}

/// The error as a page for people.
HttpResponse error_page(const HttpRequest& request, const Error& error) {
  if (!protocol::prefers_page(request)) return problem(error);
  auto page = protocol::error_page(request, protocol::http_status(error.code), error, {});
  confine_page(page.headers);
  return page;
}

}  // namespace

/// One request to the console itself.
struct ServedConsole::Visit {
  HttpExchange& http;
  const serve::ServiceOptions& options;
  bool is_tls;
  std::string source;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  /// Answers, and says so in the logs as the server does for its routes. `key` may be null.
  Task<> respond(std::string_view route, const serve::ApiKey* key, Result<> outcome, HttpResponse answer) {
    const std::string request_id = new_id("r");
    http.extra_headers().set("X-Request-Id", request_id);
    (void)co_await http.respond(std::move(answer));
    serve::AuditedRequest audited{
        .request_id = request_id,
        .peer = http.peer(),
        .forwarded_for = serve::forwarded_for(http.request(), options.behind_proxy),
        .method = http.request().method,
        .route = route,
        .status = http.status(),
        .took = std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - began)};
    if (key != nullptr) {
      audited.who = key->name;
      audited.key = serve::audited_key(key->sha256);
      audited.tenant = key->tenant;
    }
    if (!outcome) audited.error = outcome.error().code;
    log::info("request", {{"request_id", request_id},
                          {"who", audited.who},
                          {"tenant", audited.tenant},
                          {"peer", audited.peer},
                          {"method", audited.method},
                          {"route", route},
                          {"status", audited.status},
                          {"took_ms", audited.took}});
    serve::audit_request(options.audit, audited);
  }
};

Task<> ServedConsole::show_page(Visit* visit) {
  const HttpRequest& request = visit->http.request();
  if (const auto named = SessionDoor::check_host(request, visit->is_tls); !named) {
    (void)co_await visit->http.respond(error_page(request, named.error()));
    co_return;
  }
  std::optional<HttpResponse> answer;
  if (request.target.path == kSignInPath) answer = sign_in_page();
  if (request.target.path == "/" && !may_hide_session(request)) {
    const auto session = co_await door_.session_of(&request, visit->source, visit->is_tls);
    if (!session && session.error().code == Errc::unauthenticated) answer = sign_in_page();
  }
  if (!answer) answer = page_file(request.target.path);
  (void)co_await visit->http.respond(std::move(*answer));
}

Task<> ServedConsole::sign_in(Visit* visit) {
  const HttpRequest& request = visit->http.request();
  const auto attempt = [&](this auto) -> Task<Result<SessionDoor::SignedIn>> {
    SKIFF_CO_TRY_VOID(SessionDoor::check_host(request, visit->is_tls));
    SKIFF_CO_TRY_VOID(SessionDoor::check_own_form(request, visit->is_tls));
    if (!request.headers.get("Content-Type").starts_with(kFormType)) {
      co_return fail(Errc::unsupported_media_type, "the form is sent as " + std::string{kFormType});
    }
    SKIFF_CO_TRY(const auto body, co_await visit->http.read_body(kLongestForm));
    co_return co_await door_.sign_in(key_in_form(body), visit->source, visit->is_tls);
  };
  auto signed_in = co_await attempt();
  if (!signed_in) {
    const Error& why = signed_in.error();
    co_await visit->respond(kSignInPath, nullptr, std::unexpected{why},
                            why.code == Errc::host_not_allowed ? error_page(request, why) : sign_in_page(why));
    co_return;
  }
  co_await visit->respond(
      kSignInPath, &signed_in->key, {},
      {.status = 303,
       .headers = {{"Location", "/"}, {"Set-Cookie", signed_in->set_cookie}, {"Cache-Control", "no-store"}}});
}

Task<> ServedConsole::sign_out(Visit* visit) {
  const HttpRequest& request = visit->http.request();
  if (const auto own = check_own_script(request, visit->is_tls); !own) {
    co_await visit->respond(kSignOutPath, nullptr, own, problem(own.error()));
    co_return;
  }
  std::optional<serve::ApiKey> key;
  if (const auto session = co_await door_.session_of(&request, visit->source, visit->is_tls)) {
    auto found = co_await service_->keys().find(session->key, visit->source);
    if (found) key = std::move(*found);
  }
  co_await visit->respond(kSignOutPath, key ? &*key : nullptr, {},
                          {.status = 204, .headers = {{"Set-Cookie", SessionDoor::signed_out(visit->is_tls)}}});
}

Task<> ServedConsole::pass_on(Visit* visit) {
  HttpExchange& http = visit->http;
  const HttpRequest& request = http.request();
  const auto admit = [&](this auto) -> Task<Result<Session>> {
    SKIFF_CO_TRY_VOID(SessionDoor::check_host(request, visit->is_tls));
    SKIFF_CO_TRY_VOID(check_own_script(request, visit->is_tls));
    co_return co_await door_.session_of(&request, visit->source, visit->is_tls);
  };
  auto session = co_await admit();
  if (!session) {
    co_await visit->respond(kRefused, nullptr, std::unexpected{session.error()}, problem(session.error()));
    co_return;
  }
  protocol::Headers& fields = http.request_headers();
  keep_fields_of_page(fields);
  fields.set("X-API-Key", session->key);
  co_await service_->answer(http, serve::OwnPage{.ends = session->ends});
}

Task<> ServedConsole::answer(HttpExchange& http) {
  const HttpRequest& request = http.request();
  const serve::ServiceOptions& options = service_->options();
  const auto destination = serve::destination_of(request, options.domain);
  const bool is_at_host = destination && *destination && (*destination)->by == serve::NamedBy::host;
  // A host that names a port is another origin.
  if (is_at_host || !destination || request.target.fault) {
    co_await service_->answer(http);
    co_return;
  }
  Visit visit{.http = http,
              .options = options,
              .is_tls = serve::is_by_tls(http, options.behind_proxy),
              .source = serve::source_of(http, options.behind_proxy)};
  const std::string_view path{request.target.path};
  const bool is_to_sandbox = destination->has_value();
  const bool is_of_page =
      !shows_own_credential(request.headers) && is_for_page(request.target) &&
      (SessionDoor::shows_session(request, visit.is_tls) || check_own_script(request, visit.is_tls).has_value());
  const bool shows = is_read(request) && ((path == "/" && protocol::prefers_page(request)) || path == kSignInPath ||
                                          (path != "/" && page_file(path)));
  if (is_of_page) {
    confine(http.extra_headers());
    co_await pass_on(&visit);
  } else if (is_to_sandbox && !may_be_for_script(request.headers)) {
    confine(http.extra_headers());
    const Error shown{Errc::origin_not_allowed, "this address shows no pages of sandboxes: open a preview of the port"};
    co_await visit.respond(kRefused, nullptr, std::unexpected{shown}, error_page(request, shown));
  } else if (!is_to_sandbox && shows) {
    confine(http.extra_headers());
    co_await show_page(&visit);
  } else if (!is_to_sandbox && request.method == "POST" && path == kSignInPath) {
    confine(http.extra_headers());
    co_await sign_in(&visit);
  } else if (!is_to_sandbox && request.method == "POST" && path == kSignOutPath) {
    confine(http.extra_headers());
    co_await sign_out(&visit);
  } else {
    co_await service_->answer(http);
  }
}

}  // namespace skiff::container::console
