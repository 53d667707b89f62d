#include "runtime/dialects/sandboxd/rest.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"
#include "runtime/dialects/sandboxd/dialect.hpp"
#include "runtime/dialects/sandboxd/metadata.hpp"
#include "runtime/dialects/sandboxd/rest_files.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

constexpr std::string_view kHealth = "/v1/health";
/// The prefix of the variables that /v1/metadata shows.
constexpr std::string_view kMetadataPrefix = "SANDBOX_";

std::string_view code_of_status(unsigned status) {
  switch (status) {
    case 403:
    case 421:
      return "PERMISSION_DENIED";
    case 404:
      return "NOT_FOUND";
    case 409:
      return "CONFLICT";
    case 429:
    case 503:
      return "UNAVAILABLE";
    default:
      return status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
  }
}

/// The original's status for an error, where it is not that of the agent itself.
unsigned status_of(Errc code) {
  switch (code) {
    case Errc::is_a_directory:
    case Errc::too_many_links:
      return 400;
    case Errc::not_a_directory:
      return 404;
    case Errc::too_many_connections:
    case Errc::resource_exhausted:
      return 503;
    default:
      return protocol::http_status(code);
  }
}

/// The response of Go's ServeMux to a request without a route.
protocol::HttpResponse plain_answer(unsigned status, std::string_view text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}},
          .body = std::string{text}};
}

Task<Result<>> tell_health(Request* request) {
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(SteadyTime::clock::now() - request->agent.started);
  std::string text{R"({"status":"ok")"};
  protocol::append_json_number(text, "uptime_seconds", static_cast<std::uint64_t>(up.count()));
  co_return co_await request->http.respond(rest_json(200, text + '}'));
}

Task<Result<>> tell_metadata(Request* request) {
  co_return co_await request->http.respond(rest_json(200, metadata(::environ, kMetadataPrefix)));
}

/// Adapts a handler that takes the path of a file, which follows the route's own.
template <Task<Result<>> (*kHandle)(Request* request, std::string path)>
Task<Result<>> with_path(Request* request) {
  return kHandle(request, std::move(request->match.parameters.front()));
}

using Row = protocol::service::Route<Task<Result<>> (*)(Request* request)>;
constexpr std::array kRows{
    Row{.method = "DELETE", .path = "/v1/files/{path}", .handler = with_path<delete_file>},
    Row{.method = "GET", .path = "/v1/files/{path}", .handler = with_path<get_file>},
    Row{.method = "PUT", .path = "/v1/files/{path}", .handler = with_path<put_file>},
    Row{.method = "GET", .path = kHealth, .handler = tell_health},
    Row{.method = "GET", .path = "/v1/metadata", .handler = tell_metadata},
};

/// Creates an error response `{"code","message"}`, where the code is one of the original's six.
protocol::HttpResponse rest_problem(unsigned status, const Error& error) {
  if (error.code == Errc::not_found) return plain_answer(404, "404 page not found\n");
  if (error.code == Errc::method_not_allowed) return plain_answer(405, "Method Not Allowed\n");
  if (status == 0) status = status_of(error.code);
  std::string text{'{'};
  protocol::append_json_text(text, "code", code_of_status(status));
  protocol::append_json_text(text, "message", error.message);
  return rest_json(status, text + '}');
}

constexpr HttpDialect kRest{
    .name = kDialectName, .problem = rest_problem, .paths = {.rest_may_be_absent = true}, .probe = kHealth};

}  // namespace

protocol::HttpResponse rest_json(unsigned status, std::string text) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(text) + '\n'};
}

std::unique_ptr<Service> open_rest(Agent& agent) {
  return http_service(agent, &kRest, &kRows);
}

}  // namespace skiff::runtime::dialects::sandboxd
