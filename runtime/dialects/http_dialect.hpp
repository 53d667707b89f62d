#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/service/route.hpp"
#include "protocol/service/router.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/audit.hpp"
#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects {

/// An HTTP request of a dialect's client. It lives as long as its handler. The handler notes in the record which
/// session the request is about and which command it starts.
struct Request : api::RequestRecord {
  Request(Agent& on, protocol::HttpExchange& exchange, api::Caller who)
      : RequestRecord{.caller = std::move(who)}, agent{on}, http{exchange} {}

  Agent& agent;
  protocol::HttpExchange& http;
  protocol::service::Match match = {};  ///< the row of the dialect's table that matches
};

/// Answers a request that matches a row. `HttpDialect::problem` turns an error that it returns into the response.
using Handle = std::function<Task<Result<>>(Request* request)>;

/// A dialect over HTTP/1.1. Unless it has a credential of its own, everybody who reaches the port may use it.
struct HttpDialect {
  std::string_view name;
  /// Creates the response to an error, in the original's form, with skiffd's message. `status` is the HTTP status of a
  /// malformed request; 0: the dialect chooses one for the error's code. The codes `not_found` and `method_not_allowed`
  /// say that no route matches.
  protocol::HttpResponse (*problem)(unsigned status, const Error& error);
  protocol::service::RouterOptions paths = {};
  /// Splits a request's path into the segments that are compared with the table's.
  protocol::service::Segments (*segments)(const protocol::Target& target) = protocol::service::decoded_segments;
  /// The path of its health probes, "/" for example; empty: it has none. A probe does not count as use of the sandbox,
  /// as with those of the agent itself. Only the metrics and the debug log record it.
  std::string_view probe = {};
  /// The dialect has a credential of its own. Its handlers check it, call `HttpExchange::mark_authenticated`, and say
  /// whether the caller is anonymous.
  bool authenticates_itself = false;
  /// Its routes handle Content-Encoding: they unpack bodies, or refuse them in the original's way.
  bool takes_coded = false;
};

/// The segments of the path as they were sent, not decoded.
[[nodiscard]] inline protocol::service::Segments sent_segments(const protocol::Target& target) {
  return protocol::service::split_path(target.path);
}

/// Creates the service of a dialect. For each request it checks Host and Origin, refuses new work while the agent
/// drains, counts the sandbox as used, and records the answer in the metrics, the audit log and the log. `dialect` must
/// live as long as the program, and so must the texts of the router's table.
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect,
                                                    protocol::service::Router router, Handle handle);

/// Creates the service of a dialect whose table's handlers take the request, and the `state` that is kept between
/// requests.
template <class Rows, class... State>
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect, const Rows* rows,
                                                    std::shared_ptr<State>... state) {
  return http_service(agent, dialect, protocol::service::Router{*rows, dialect->paths},
                      [rows, ... state = std::move(state)](Request* request) {
                        return (*rows)[request->match.route].handler(request, state.get()...);
                      });
}

}  // namespace skiff::runtime::dialects
