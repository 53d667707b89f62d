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

/// One HTTP request of a dialect's client. Lives as long as its handler, which notes in the record which session it is
/// about and which command it starts.
struct Request : api::RequestRecord {
  Request(Agent& on, protocol::HttpExchange& exchange, api::Caller who)
      : RequestRecord{.caller = std::move(who)}, agent{on}, http{exchange} {}

  Agent& agent;
  protocol::HttpExchange& http;
  protocol::service::Match match = {};  ///< the row of the dialect's table
};

/// Answers a request for which there is a row. What it returns as an error becomes the response of
/// `HttpDialect::problem`.
using Handle = std::function<Task<Result<>>(Request* request)>;

/// A dialect that is HTTP/1.1. Its clients show no credential, unless it asks for one: who reaches the port may use it.
struct HttpDialect {
  std::string_view name;
  /// The original's form of an error, with our sentence. `status` is what HTTP says of a broken request; 0: the
  /// dialect's own for this error. `not_found` and `method_not_allowed`: no route is there.
  protocol::HttpResponse (*problem)(unsigned status, const Error& error);
  protocol::service::RouterOptions paths = {};
  /// The segments that are compared with the table's.
  protocol::service::Segments (*segments)(const protocol::Target& target) = protocol::service::decoded_segments;
  /// The path of its probes, "/": as those of the agent itself they do not use the sandbox, and only the metrics and
  /// the log at its debug level tell of them. Empty: it has none.
  std::string_view probe = {};
  /// It has a credential of its own: its handlers call `HttpExchange::mark_authenticated` for who has shown that, and
  /// say that the caller is not anonymous.
  bool authenticates_itself = false;
  /// Its routes unpack bodies, or refuse them in the original's way.
  bool takes_coded = false;
};

/// The path as it was sent.
[[nodiscard]] inline protocol::service::Segments sent_segments(const protocol::Target& target) {
  return protocol::service::split_path(target.path);
}

/// Serves it: for each request Host and Origin are checked, new work is refused while the agent drains, the sandbox
/// counts as used, and metrics, audit log and log tell of the answer. `dialect` must live as long as the program, and
/// so must the texts of the router's table.
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect,
                                                    protocol::service::Router router, Handle handle);

/// The same for a table whose handlers take the request, and `state`: what lasts from request to request.
template <class Rows, class... State>
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect, const Rows* rows,
                                                    std::shared_ptr<State>... state) {
  return http_service(agent, dialect, protocol::service::Router{*rows, dialect->paths},
                      [rows, ... state = std::move(state)](Request* request) {
                        return (*rows)[request->match.route].handler(request, state.get()...);
                      });
}

}  // namespace skiff::runtime::dialects
