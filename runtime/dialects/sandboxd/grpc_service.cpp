#include "runtime/dialects/sandboxd/grpc_service.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "protocol/http2/server.hpp"
#include "runtime/api/record_request.hpp"
#include "runtime/connection_limits.hpp"
#include "runtime/dialects/sandboxd/dialect.hpp"
#include "runtime/dialects/sandboxd/grpc_health.hpp"
#include "runtime/dialects/sandboxd/process_service.hpp"
#include "runtime/dialects/sandboxd/reflection.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protocol::GrpcCode;
using protocol::GrpcStatus;

constexpr std::size_t kLongestToldPath = 200;
/// The largest message, which is grpc-go's default; input may be larger.
constexpr std::size_t kMostMessage = std::size_t{4} << 20U;
constexpr std::size_t kMostInput = std::size_t{32} << 20U;

struct MethodRoute {
  std::string_view path;
  Task<GrpcStatus> (*run)(ServiceCall* call);
  std::size_t most = kMostMessage;
  bool is_probe = false;  ///< it does not count as use of the sandbox, and is answered while the agent drains
};
constexpr std::array kMethods{
    MethodRoute{.path = "/process.v1.ProcessService/Start", .run = &start_process},
    MethodRoute{.path = "/process.v1.ProcessService/Execute", .run = &execute_process},
    MethodRoute{.path = "/process.v1.ProcessService/WriteStdin", .run = &write_stdin, .most = kMostInput},
    MethodRoute{.path = "/process.v1.ProcessService/SendSignal", .run = &send_signal},
    MethodRoute{.path = "/process.v1.ProcessService/ResizeTTY", .run = &resize_terminal},
    MethodRoute{.path = "/grpc.health.v1.Health/Check", .run = &check_health, .is_probe = true},
    MethodRoute{.path = "/grpc.health.v1.Health/Watch", .run = &watch_health, .is_probe = true},
    MethodRoute{.path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", .run = &reflect},
    MethodRoute{.path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", .run = &reflect},
};

/// The HTTP status that stands for a call's end in the metrics and the audit log.
unsigned http_status_of(GrpcCode code) {
  switch (code) {
    case GrpcCode::ok:
      return 200;
    case GrpcCode::cancelled:
      return 499;
    case GrpcCode::not_found:
    case GrpcCode::unimplemented:
      return 404;
    case GrpcCode::permission_denied:
      return 403;
    case GrpcCode::resource_exhausted:
      return 429;
    case GrpcCode::invalid_argument:
    case GrpcCode::failed_precondition:
    case GrpcCode::out_of_range:
      return 400;
    case GrpcCode::unavailable:
      return 503;
    case GrpcCode::deadline_exceeded:  // the client's own deadline
      return 408;
    default:
      return 500;
  }
}

Identity anonymous_client() {
  return {.scopes = Scopes{}.with(Scope::exec),
          .session = std::nullopt,
          .name = identity_name(kDialectName),
          .expires = std::nullopt,
          .anonymous = true};
}

GrpcStatus unknown_method(std::string_view path) {
  return {GrpcCode::unimplemented, "method " + std::string{path} + " is not known here"};
}

/// Runs a method within the client's deadline.
Task<protocol::GrpcOutcome> run_route(const MethodRoute* route, ServiceCall* call) {
  Agent& agent = call->service.agent;
  std::optional<std::chrono::milliseconds> timeout;
  if (call->timeout) {
    auto parsed = protocol::parse_grpc_timeout(*call->timeout);
    if (!parsed) co_return protocol::GrpcOutcome{.status = protocol::grpc_status(parsed.error())};
    if (*parsed == std::chrono::milliseconds{0}) {
      // Nobody waits for the answer, so nothing is begun.
      co_return protocol::GrpcOutcome{.status = {GrpcCode::deadline_exceeded, "the call's time is over"}};
    }
    timeout = *parsed;
  }
  if (agent.shutdown.draining() && !route->is_probe) {
    co_return protocol::GrpcOutcome{.status = {GrpcCode::unavailable, "the agent is stopping and takes no new work"}};
  }
  std::optional<Activity::Use> use;
  if (!route->is_probe) use.emplace(agent.activity);
  Task<GrpcStatus> method = route->run(call);
  co_return co_await protocol::run_method(&call->grpc, std::move(method), timeout, &call->over_time);
}

Task<> serve_call(ProcessService* service, protocol::Http2Exchange* http) {
  const protocol::Http2Request& request = http->request();
  api::RequestRecord record;
  // A browser never speaks HTTP/2 without TLS, so Host and Origin need no check here.
  if (request.method != "POST") {
    http->respond({{"allow", "POST"}}, 405);
    co_return;
  }
  if (!protocol::is_grpc_content_type(request.headers.get("content-type"))) {
    http->respond({}, 415);
    co_return;
  }
  const auto route = std::ranges::find(kMethods, std::string_view{request.path}, &MethodRoute::path);
  const bool is_known = route != kMethods.end();
  protocol::GrpcCall grpc{*http, is_known ? route->most : kMostMessage, service->agent.settings.body_timeout};
  ServiceCall call{
      .service = *service,
      .grpc = grpc,
      .caller = api::caller_of(request.headers, anonymous_client()),
      .timeout = request.headers.find("grpc-timeout").transform([](auto text) { return std::string{text}; })};
  protocol::GrpcOutcome outcome{.status = unknown_method(request.path.substr(0, kLongestToldPath))};
  http->forget_head();
  // A probe stays unauthenticated: slots for such connections are left when all the others are taken.
  if (auto kept = is_known && route->is_probe ? Result<>{} : http->mark_authenticated(); !kept) {
    outcome.status = protocol::grpc_status(kept.error());
  } else if (is_known) {
    outcome = co_await run_route(&*route, &call);
  }
  if (!outcome.is_given_up) grpc.finish(outcome.status);
  Agent& agent = service->agent;
  record.caller = std::move(call.caller);
  if (is_known) record.route = route->path;
  if (!call.command.empty()) record.session = sessions::Registry::kDefault;
  record.command = std::move(call.command);
  record.row = agent.requests.row_of(record.caller.identity.name);
  record.is_aside = is_known && route->is_probe;
  api::record_request(agent, record,
                      {.peer = http->peer(),
                       .method = "POST",
                       .status = http_status_of(outcome.status.code),
                       .bytes = http->bytes_sent(),
                       .duration = api::took(record)});
}

class GrpcService final : public Service {
 public:
  explicit GrpcService(Agent& agent)
      : service_{.agent = agent},
        server_{agent.executor,
                {.limits = connection_limits(agent.settings),
                 .session = {.header_list_bytes = static_cast<std::uint32_t>(agent.settings.max_header_bytes)},
                 .received = &agent.quotas.received,
                 .ping_interval = agent.settings.keepalive,
                 .handler = [this](protocol::Http2Exchange& http) { return serve_call(&service_, &http); }}} {}

  void listen(std::shared_ptr<protocol::Listener> listener) override { server_.listen(std::move(listener)); }
  void drain() override { server_.drain(); }
  Task<> drained(std::chrono::milliseconds limit) override { return server_.drained(limit); }
  Task<> stop() override { return server_.stop(); }

 private:
  ProcessService service_;
  protocol::Http2Server server_;
};

}  // namespace

std::unique_ptr<Service> open_grpc(Agent& agent) {
  return std::make_unique<GrpcService>(agent);
}

}  // namespace skiff::runtime::dialects::sandboxd
