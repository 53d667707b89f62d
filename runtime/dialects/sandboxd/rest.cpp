#include "runtime/dialects/sandboxd/rest.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"
#include "runtime/dialects/sandboxd/metadata.hpp"
#include "runtime/dialects/sandboxd/rest_files.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

/// Of the variables that /v1/metadata shows.
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

/// The original's statuses, where they are not those of the agent itself.
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

Task<Result<>> answer_plainly(Request* request, unsigned status, std::string_view text) {
  protocol::HttpResponse response{status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string{text}};
  response.headers.set("X-Content-Type-Options", "nosniff");
  co_return co_await request->http.respond(std::move(response));
}

Task<Result<>> wrong_method(Request* request, std::string_view allowed) {
  request->http.extra_headers().set("Allow", allowed);
  return answer_plainly(request, 405, "Method Not Allowed\n");
}

bool is_get(std::string_view method) {
  return method == "GET" || method == "HEAD";
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

/// What stands behind /v1/files/, decoded.
std::string path_of(const protocol::Target& target) {
  std::string path;
  for (std::size_t i = 2; i < target.segments.size(); ++i) {
    if (i > 2) path += '/';
    path += target.segments[i];
  }
  return path;
}

}  // namespace

protocol::HttpResponse rest_json(unsigned status, std::string text) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(text) + '\n'};
}

protocol::HttpResponse rest_problem(unsigned status, const Error& error) {
  if (status == 0) status = status_of(error.code);
  std::string text{'{'};
  protocol::append_json_text(text, "code", code_of_status(status));
  protocol::append_json_text(text, "message", error.message);
  return rest_json(status, text + '}');
}

Task<Result<>> handle_rest(Request* request) {
  const auto& head = request->http.request();
  const auto& segments = head.target.segments;
  if (segments.size() < 2 || segments[0] != "v1")
    co_return co_await answer_plainly(request, 404, "404 page not found\n");
  if (segments[1] == "files") {
    request->route = "/v1/files/";
    std::string path = path_of(head.target);
    if (is_get(head.method)) co_return co_await get_file(request, std::move(path));
    if (head.method == "PUT") co_return co_await put_file(request, std::move(path));
    if (head.method == "DELETE") co_return co_await delete_file(request, std::move(path));
    co_return co_await wrong_method(request, "DELETE, GET, HEAD, PUT");
  }
  const bool is_health = segments[1] == "health";
  if (segments.size() > 2 || (!is_health && segments[1] != "metadata")) {
    co_return co_await answer_plainly(request, 404, "404 page not found\n");
  }
  request->route = is_health ? "/v1/health" : "/v1/metadata";
  if (!is_get(head.method)) co_return co_await wrong_method(request, "GET, HEAD");
  co_return co_await (is_health ? tell_health(request) : tell_metadata(request));
}

}  // namespace skiff::runtime::dialects::sandboxd
