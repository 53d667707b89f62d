#include "runtime/dialects/python_runtime/dialect.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "runtime/dialects/http_dialect.hpp"
#include "runtime/dialects/python_runtime/answers.hpp"
#include "runtime/dialects/python_runtime/execute.hpp"
#include "runtime/dialects/python_runtime/files.hpp"
#include "runtime/dialects/python_runtime/upload.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr std::string_view kName = "python-runtime";
constexpr std::uint16_t kPort = 8888;

Task<Result<>> tell_health(Request* request, std::string_view) {
  co_return co_await request->http.respond(
      json_answer(200, R"({"status":"ok","message":"Sandbox Runtime is active."})"));
}

Task<Result<>> run_command(Request* request, std::string_view) {
  return execute(request);
}

Task<Result<>> take_upload(Request* request, std::string_view) {
  return upload(request);
}

struct PathRoute {
  std::string_view path;    ///< decoded; with a slash at its end it has a file's path behind it
  std::string_view method;  ///< GET: HEAD, too
  Task<Result<>> (*handle)(Request* request, std::string_view rest);
};
constexpr std::array kRoutes{
    PathRoute{"/", "GET", &tell_health},        PathRoute{"/execute", "POST", &run_command},
    PathRoute{"/upload", "POST", &take_upload}, PathRoute{"/download/", "GET", &download},
    PathRoute{"/list/", "GET", &list},          PathRoute{"/exists/", "GET", &exists},
};

/// Where FastAPI redirects to the path with or without its last slash, the answer is given at once: no client of the
/// original follows.
bool matches(const PathRoute& route, std::string_view path) {
  if (route.path.size() > 1 && route.path.ends_with('/')) {
    return path.starts_with(route.path) || path == route.path.substr(0, route.path.size() - 1);
  }
  return path == route.path || (route.path.size() > 1 && path == std::string{route.path} + '/');
}

Task<Result<>> handle(Request* request) {
  const auto& head = request->http.request();
  std::string path;
  for (const std::string& segment : head.target.segments) path += '/' + segment;
  const auto route = std::ranges::find_if(kRoutes, [&](const PathRoute& one) { return matches(one, path); });
  if (route == kRoutes.end()) co_return co_await request->http.respond(detail(404, "Not Found"));
  request->route = route->path;
  if (head.method != route->method && !(route->method == "GET" && head.method == "HEAD")) {
    request->http.extra_headers().set("Allow", route->method);
    co_return co_await request->http.respond(detail(405, "Method Not Allowed"));
  }
  const std::string_view rest = std::string_view{path}.substr(std::min(path.size(), route->path.size()));
  co_return co_await route->handle(request, rest);
}

constexpr HttpDialect kHttp{.name = kName, .handle = &handle, .problem = &problem, .probe = "/"};

std::unique_ptr<Service> open_service(Agent& agent) {
  return http_service(agent, &kHttp);
}

constexpr std::array kDoors{Door{.speaks = "HTTP", .port = kPort, .open = &open_service}};
constexpr Dialect kDialect{.name = kName, .doors = kDoors};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::python_runtime
