#include "runtime/dialects/http_dialect.hpp"

#include <optional>
#include <utility>

#include "protocol/http/server/server.hpp"
#include "protocol/service/body.hpp"
#include "protocol/service/dispatcher.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/record_request.hpp"
#include "runtime/connection_limits.hpp"

namespace skiff::runtime::dialects {
namespace {

/// The identity of a client without a credential. It may neither switch to another user nor set a set-id bit.
Identity identity_of(const HttpDialect& dialect) {
  return {.scopes = Scopes{}.with(Scope::exec),
          .session = std::nullopt,
          .name = identity_name(dialect.name),
          .expires = std::nullopt,
          .anonymous = true};
}

/// Shared by the requests of one address.
struct Face {
  const HttpDialect* dialect;
  BrowserGuard guard;
  protocol::service::Router router;
  Handle handle;
  std::size_t row;  ///< the dialect's row in `Agent::requests`
};

/// A request while it is handled.
struct DialectVisit : Request {
  using Request::Request;
  const Face* face = nullptr;
  std::optional<Activity::Use> use = {};
};

struct DialectPolicy {
  using Visit = DialectVisit;
  static constexpr std::string_view kNoSuchPath = "there is no such path";

  static void find(Visit* visit) {
    const Face& face = *visit->face;
    const auto& head = visit->http.request();
    visit->match = face.router.match(head.method, face.dialect->segments(head.target));
    if (!visit->match.is_found()) return;
    const std::string_view path = face.router.path(visit->match.route);
    visit->is_aside = path == face.dialect->probe;
    visit->route = path.substr(0, path.find('{'));
  }

  static Result<std::optional<protocol::HttpResponse>> guard(Visit* visit) {
    SKIFF_TRY_VOID(visit->face->guard.judge(BrowserHead::of(visit->http), BrowserGuard::Checks::origin));
    return std::nullopt;
  }

  static Task<Result<>> identify(Visit* visit) {
    const HttpDialect& dialect = *visit->face->dialect;
    // A probe stays unauthenticated: slots for such connections are left when all the others are taken.
    if (!dialect.authenticates_itself && !visit->is_aside) {
      SKIFF_CO_TRY_VOID(visit->http.mark_authenticated());
    }
    if (!dialect.takes_coded) {
      SKIFF_CO_TRY_VOID(protocol::service::check_coding(visit->http.request()));
    }
    if (visit->agent.shutdown.draining()) {
      co_return fail(Errc::draining, "the agent is stopping and takes no new work");
    }
    if (!visit->is_aside) visit->use.emplace(visit->agent.activity);
    co_return Result<>{};
  }

  static Task<Result<>> handle(Visit* visit) { return visit->face->handle(visit); }

  static protocol::HttpResponse problem(Visit* visit, const Error& error) {
    if (api::is_for_later(error.code)) visit->http.extra_headers().set("Retry-After", "1");
    return visit->face->dialect->problem(0, error);
  }

  static void tell(Visit* visit, const Result<>&) { api::record_request(visit->agent, *visit, visit->http); }
};

Task<> serve_request(Agent* agent, const Face* face, protocol::HttpExchange* http) {
  DialectVisit visit{*agent, *http, api::caller_of(http->request().headers, identity_of(*face->dialect))};
  visit.face = face;
  visit.row = face->row;
  return protocol::service::dispatch<DialectPolicy>(std::move(visit));
}

class HttpService final : public Service {
 public:
  HttpService(Agent& agent, Face face)
      : face_{std::move(face)},
        server_{
            agent.executor,
            {.limits = connection_limits(agent.settings),
             .name = "skiffd",
             .received = &agent.quotas.received,
             .handler = [this, &agent](protocol::HttpExchange& http) { return serve_request(&agent, &face_, &http); },
             .error_response =
                 [this, &agent](unsigned status, const Error& error) {
                   agent.requests.count(face_.row, status);
                   auto response = face_.dialect->problem(status, error);
                   response.status = status;
                   return response;
                 }}} {}

  void listen(std::shared_ptr<protocol::Listener> listener) override { server_.listen(std::move(listener)); }
  void drain() override { server_.drain(); }
  Task<> drained(std::chrono::milliseconds limit) override { return server_.drained(limit); }
  Task<> stop() override { return server_.stop(); }

 private:
  Face face_;
  protocol::HttpServer server_;
};

}  // namespace

std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect, protocol::service::Router router,
                                      Handle handle) {
  return std::make_unique<HttpService>(agent, Face{.dialect = dialect,
                                                   .guard = agent.access.browser_guard.with_cluster_names(),
                                                   .router = std::move(router),
                                                   .handle = std::move(handle),
                                                   .row = agent.requests.row_of(identity_name(dialect->name))});
}

}  // namespace skiff::runtime::dialects
