#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/task.hpp"
#include "protocol/http/exchange.hpp"
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
};

/// Answers a request. What it returns as an error becomes the response of `HttpDialect::problem`.
using Handle = std::function<Task<Result<>>(Request* request)>;

/// A dialect that is HTTP/1.1. Its clients show no credential, unless it asks for one: who reaches the port may use it.
struct HttpDialect {
  std::string_view name;
  Task<Result<>> (*handle)(Request* request);
  /// The original's form of an error, with our sentence. `status` is what HTTP says of a broken request; 0: the
  /// dialect's own for this error.
  protocol::HttpResponse (*problem)(unsigned status, const Error& error);
  /// The path of its probes, "/": as those of the agent itself they do not use the sandbox, and only the metrics and
  /// the log at its debug level tell of them. Empty: it has none.
  std::string_view probe = {};
  /// It has a credential of its own: `handle` calls `HttpExchange::vouch` for who has shown that, and says that the
  /// caller is not anonymous.
  bool vouches_itself = false;
  /// Its routes unpack bodies, or refuse them in the original's way.
  bool takes_coded = false;
};

/// Serves it: for each request Host and Origin are checked, new work is refused while the agent drains, the sandbox
/// counts as used, and metrics, audit log and log tell of the answer. `dialect` must live as long as the program.
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect);
/// The same with `handle` in place of the dialect's own: for one that keeps something from request to request.
[[nodiscard]] std::unique_ptr<Service> http_service(Agent& agent, const HttpDialect* dialect, Handle handle);

}  // namespace skiff::runtime::dialects
