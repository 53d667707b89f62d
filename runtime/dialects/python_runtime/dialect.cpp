#include "runtime/dialects/python_runtime/dialect.hpp"

#include <array>
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

Task<Result<>> tell_health(Request* request) {
  co_return co_await request->http.respond(
      json_answer(200, R"({"status":"ok","message":"Sandbox Runtime is active."})"));
}

/// Adapts a handler that takes the path of a file, which follows the route's own.
template <Task<Result<>> (*kHandle)(Request* request, std::string_view rest)>
Task<Result<>> with_path(Request* request) {
  return kHandle(request, request->match.parameters.front());
}

using Row = protocol::service::Route<Task<Result<>> (*)(Request* request)>;
constexpr std::array kRows{
    Row{.method = "GET", .path = "/", .handler = tell_health},
    Row{.method = "POST", .path = "/execute", .handler = execute},
    Row{.method = "POST", .path = "/upload", .handler = upload},
    Row{.method = "GET", .path = "/download/{path}", .handler = with_path<download>},
    Row{.method = "GET", .path = "/list/{path}", .handler = with_path<list>},
    Row{.method = "GET", .path = "/exists/{path}", .handler = with_path<exists>},
};

constexpr HttpDialect kHttp{.name = kName, .problem = &problem, .paths = kPathsOfFastapi, .probe = "/"};

std::unique_ptr<Service> open_service(Agent& agent) {
  return http_service(agent, &kHttp, &kRows);
}

constexpr std::array kEndpoints{Endpoint{.speaks = "HTTP", .port = kPort, .open = &open_service}};
constexpr Dialect kDialect{.name = kName, .endpoints = kEndpoints};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::python_runtime
