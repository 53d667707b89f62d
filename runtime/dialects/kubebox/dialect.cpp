#include "runtime/dialects/kubebox/dialect.hpp"

#include <algorithm>
#include <array>
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

/// A handler that has no use for the streams.
template <Task<Result<>> (*kHandle)(Request* request)>
Task<Result<>> plain(Request* request, WaitingStreams*) {
  return kHandle(request);
}

struct RouteRow {
  std::string_view method;  ///< GET: HEAD, too
  std::string_view path;
  Task<Result<>> (*handle)(Request* request, WaitingStreams* waiting);
};
constexpr std::array kRows{
    RouteRow{"GET", "/", plain<show_root>},
    RouteRow{"GET", "/socket.io", connect},
    RouteRow{"POST", "/initialize", plain<initialize>},
    RouteRow{"POST", "/run_command", run_command},
    RouteRow{"POST", "/kill_command", plain<kill_command>},
    RouteRow{"POST", "/kill_all_processes", plain<kill_all_processes>},
    RouteRow{"POST", "/get_website_console_logs", plain<get_website_console_logs>},
    RouteRow{"GET", "/read_file", plain<read_file>},
    RouteRow{"GET", "/get_file", plain<get_file>},
    RouteRow{"POST", "/write_file", plain<write_file>},
    RouteRow{"POST", "/make_dirs", plain<make_dirs>},
    RouteRow{"POST", "/delete_file", plain<delete_file>},
    RouteRow{"GET", "/file_exists", plain<file_exists>},
    RouteRow{"GET", "/get_all_file_paths", plain<get_all_file_paths>},
};

Task<Result<>> handle(Request* request, WaitingStreams* waiting) {
  const auto& head = request->http.request();
  // FastAPI redirects from a path with a slash at its end. Here the answer comes at once.
  std::string_view path = head.target.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto* const row = std::ranges::find(kRows, path, &RouteRow::path);
  if (row == kRows.end()) co_return fail(Errc::not_found, "Not Found");
  request->route = row->path;
  if (head.method != row->method && !(row->method == "GET" && head.method == "HEAD")) {
    request->http.extra_headers().set("Allow", row->method);
    co_return fail(Errc::method_not_allowed, "Method Not Allowed");
  }
  co_return co_await row->handle(request, waiting);
}

/// FastAPI's form. Its status for what is wrong in a request's fields is 422, the original's for a session 400.
protocol::HttpResponse problem(unsigned status, const Error& error) {
  if (status == 0) {
    const bool is_of_field =
        error.code == Errc::invalid_field || error.code == Errc::missing_field || error.code == Errc::malformed_json;
    status = error.code == Errc::session_not_found ? 400 : is_of_field ? 422 : protocol::http_status(error.code);
  }
  auto response = detail(status, error.message);
  if (error.code == Errc::upgrade_required) {
    for (const auto& [name, value] : protocol::kUpgradeHeaders) response.headers.set(name, value);
  }
  return response;
}

constexpr HttpDialect kHttp{.name = "kubebox", .handle = nullptr, .problem = problem, .probe = "/"};

std::unique_ptr<Service> open(Agent& agent) {
  const auto waiting = std::make_shared<WaitingStreams>(agent.executor);
  return http_service(agent, &kHttp, [waiting](Request* request) { return handle(request, waiting.get()); });
}

constexpr std::array kDoors{Door{.speaks = "HTTP", .port = 80, .open = open}};

}  // namespace

const Dialect& dialect() {
  static constexpr Dialect kDialect{.name = kHttp.name, .doors = kDoors};
  return kDialect;
}

}  // namespace skiff::runtime::dialects::kubebox
