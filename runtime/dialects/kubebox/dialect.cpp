#include "runtime/dialects/kubebox/dialect.hpp"

#include <array>
#include <memory>
#include <utility>

#include "protocol/json/problem.hpp"
#include "protocol/websocket/handshake.hpp"
#include "runtime/api/sockets/socket_routes.hpp"
#include "runtime/dialects/http_dialect.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/connection.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

Task<Result<>> show_root(Request* request) {
  return answer(request, R"({"message":"skiffd speaks kubebox here"})");
}

Task<Result<>> connect(Request* request, WaitingStreams* waiting) {
  const auto& head = request->http.request();
  if (head.target.parameter("EIO") != "4" || head.target.parameter("transport") != "websocket") {
    co_return fail(Errc::invalid_request, "Engine.IO protocol 4 over a WebSocket alone: EIO=4&transport=websocket");
  }
  SKIFF_CO_TRY(auto handshake, api::shake_hands(head, {}));
  const std::string peer{request->http.peer()};  // "127.0.0.1:51234"
  co_return co_await request->http.upgrade(
      std::move(handshake.headers),
      [&agent = request->agent, waiting, host = peer.substr(0, peer.rfind(':'))](protocol::Upgraded upgraded) {
        return serve_connection(std::move(upgraded), &agent, waiting, host);
      });
}

/// Adapts a handler that does not use the streams.
template <Task<Result<>> (*kHandle)(Request* request)>
Task<Result<>> plain(Request* request, WaitingStreams*) {
  return kHandle(request);
}

using Row = protocol::service::Route<Task<Result<>> (*)(Request* request, WaitingStreams* waiting)>;
constexpr std::array kRows{
    Row{.method = "GET", .path = "/", .handler = plain<show_root>},
    Row{.method = "GET", .path = "/socket.io", .handler = connect},
    Row{.method = "POST", .path = "/initialize", .handler = plain<initialize>},
    Row{.method = "POST", .path = "/run_command", .handler = run_command},
    Row{.method = "POST", .path = "/kill_command", .handler = plain<kill_command>},
    Row{.method = "POST", .path = "/kill_all_processes", .handler = plain<kill_all_processes>},
    Row{.method = "POST", .path = "/get_website_console_logs", .handler = plain<get_website_console_logs>},
    Row{.method = "GET", .path = "/read_file", .handler = plain<read_file>},
    Row{.method = "GET", .path = "/get_file", .handler = plain<get_file>},
    Row{.method = "POST", .path = "/write_file", .handler = plain<write_file>},
    Row{.method = "POST", .path = "/make_dirs", .handler = plain<create_dirs>},
    Row{.method = "POST", .path = "/delete_file", .handler = plain<delete_file>},
    Row{.method = "GET", .path = "/file_exists", .handler = plain<file_exists>},
    Row{.method = "GET", .path = "/get_all_file_paths", .handler = plain<get_all_file_paths>},
};

/// Creates an error response in FastAPI's form. An invalid field has the status 422, as in FastAPI. An unknown session
/// has 400, as in the original.
protocol::HttpResponse problem(unsigned status, const Error& error) {
  if (status == 0) {
    const bool is_of_field =
        error.code == Errc::invalid_field || error.code == Errc::missing_field || error.code == Errc::malformed_json;
    status = error.code == Errc::session_not_found ? 400 : is_of_field ? 422 : protocol::http_status(error.code);
  }
  auto response = detail(status, error);
  if (error.code == Errc::upgrade_required) {
    for (const auto& [name, value] : protocol::kUpgradeHeaders) response.headers.set(name, value);
  }
  return response;
}

constexpr HttpDialect kHttp{
    .name = "kubebox", .problem = problem, .paths = kPathsOfFastapi, .segments = sent_segments, .probe = "/"};

std::unique_ptr<Service> open(Agent& agent) {
  return http_service(agent, &kHttp, &kRows, std::make_shared<WaitingStreams>(agent.executor));
}

constexpr std::array kEndpoints{Endpoint{.speaks = "HTTP", .port = 80, .open = open}};

}  // namespace

const Dialect& dialect() {
  static constexpr Dialect kDialect{.name = kHttp.name, .endpoints = kEndpoints};
  return kDialect;
}

}  // namespace skiff::runtime::dialects::kubebox
