#include "runtime/dialects/http_dialect.hpp"

#include <optional>
#include <utility>

#include "protocol/http/server.hpp"
#include "protocol/service/body.hpp"
#include "runtime/api/account.hpp"
#include "runtime/connection_limits.hpp"

namespace skiff::runtime::dialects {
namespace {

/// What a stranger may do who reaches the port. Nobody is switched to, and no set-id bit is given.
Identity identity_of(const HttpDialect& dialect) {
  return {.scopes = Scopes{}.with(Scope::exec),
          .session = std::nullopt,
          .name = identity_name(dialect.name),
          .expires = std::nullopt,
          .anonymous = true};
}

bool is_probe(const HttpDialect& dialect, const protocol::HttpRequest& head) {
  return !dialect.probe.empty() && head.target.path == dialect.probe && (head.method == "GET" || head.method == "HEAD");
}

Task<Result<>> admit(Request* request, const BrowserGuard* guard, const HttpDialect* dialect, const Handle* handle) {
  SKIFF_CO_TRY_VOID(guard->judge(BrowserHead::of(request->http), BrowserGuard::Checks::origin));
  const bool probe = is_probe(*dialect, request->http.request());
  // A probe stays a stranger, for whom a place is kept when all the others are taken.
  if (!dialect->vouches_itself && !probe) {
    SKIFF_CO_TRY_VOID(request->http.vouch());
  }
  if (!dialect->takes_coded) {
    SKIFF_CO_TRY_VOID(protocol::service::check_coding(request->http.request()));
  }
  if (request->agent.draining) {
    request->http.extra_headers().set("Retry-After", "1");
    co_return fail(Errc::draining, "the agent is stopping and takes no new work");
  }
  std::optional<Activity::Use> use;
  if (!probe) use.emplace(request->agent.activity);
  co_return co_await (*handle)(request);
}

Task<> serve_request(Agent* agent, const BrowserGuard* guard, const HttpDialect* dialect, const Handle* handle,
                     protocol::HttpExchange* http) {
  const auto& head = http->request();
  Request request{*agent, *http, api::caller_of(head.headers, identity_of(*dialect))};
  request.row = agent->requests.row_of(request.caller.identity.name);
  request.is_aside = is_probe(*dialect, head);
  const Result<> outcome = co_await admit(&request, guard, dialect, handle);
  if (!outcome && http->status() == 0) (void)co_await http->respond(dialect->problem(0, outcome.error()));
  api::account_for(*agent, request, *http);
}

class HttpService final : public Service {
 public:
  HttpService(Agent& agent, const HttpDialect* dialect, Handle handle)
      : guard_{agent.browser_guard.with_cluster_names()},
        handle_{std::move(handle)},
        server_{agent.executor,
                {.limits = connection_limits(agent.settings),
                 .name = "skiffd",
                 .received = &agent.received,
                 .handler =
                     [this, &agent, dialect](protocol::HttpExchange& http) {
                       return serve_request(&agent, &guard_, dialect, &handle_, &http);
                     },
                 .error_response =
                     [&agent, dialect](unsigned status, const Error& error) {
                       agent.requests.count(agent.requests.row_of(identity_name(dialect->name)), status);
                       auto response = dialect->problem(status, error);
                       response.status = status;
                       return response;
                     }}} {}

  void listen(std::shared_ptr<protocol::Listener> listener) override { server_.listen(std::move(listener)); }
  void drain() override { server_.drain(); }
  Task<> drained(std::chrono::milliseconds limit) override { return server_.drained(limit); }
  Task<> stop() override { return server_.stop(); }

 private:
  BrowserGuard guard_;
  Handle handle_;
  protocol::HttpServer server_;
};

}  // namespace

std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect) {
  return http_service(agent, dialect, dialect->handle);
}

std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect, Handle handle) {
  return std::make_unique<HttpService>(agent, dialect, std::move(handle));
}

}  // namespace skiff::runtime::dialects
