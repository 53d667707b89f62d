#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/route.hpp"

/// Builds the OpenAPI document: an operation for each row of the route table.
namespace skiff::runtime::api {
namespace {

/// The statuses of errors that depend on the kind of route: a malformed request, a wrong Host, a head that is too
/// large, too many connections; then those of credentials, ids and bodies. 405 is for methods that are not in the
/// document.
std::vector<unsigned> usual_problems(const Route& route) {
  std::vector<unsigned> statuses{400, 421, 431, 503};
  if (route.scope) statuses.insert(statuses.end(), {401, 403});
  if (route.path.find('{') != std::string_view::npos) statuses.push_back(404);
  if (route.body == Body::json) statuses.insert(statuses.end(), {413, 415});
  return statuses;
}

protocol::ApiParameter id_parameter(std::string name, std::string help) {
  return {.name = std::move(name),
          .in = protocol::ApiParameter::In::path,
          .help = std::move(help),
          .schema = R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})"};
}

protocol::ApiParameter path_parameter(const Route& route) {
  if (route.passes_on()) {
    return {.name = "path",
            .in = protocol::ApiParameter::In::path,
            .help = "Any path; it is passed on unchanged, with the query",
            .schema = R"({"type":"string"})"};
  }
  return {.name = "path",
          .in = protocol::ApiParameter::In::path,
          .help = "Path, relative to the session's root or absolute (beginning with %2F)",
          .schema = R"({"type":"string"})"};
}

/// How a page in a browser, which cannot set header fields, sends its token.
std::string in_a_browser(const Route& route) {
  const bool is_port = route.scope == Scope::ports;
  return std::string{
             "A page in a browser sends its token as the subprotocol skiff.bearer.TOKEN, with the token in "
             "base64url without padding, and offers "} +
         (is_port ? "skiff.v1.tcp" : "skiff.v1.json") + " beside it.";
}

protocol::ApiOperation operation_of(const Route& route, std::string_view method) {
  protocol::ApiOperation operation;
  operation.method = method;
  operation.path = route.path;
  operation.operation_id = route.operation_id;
  operation.summary = route.summary;
  operation.tag = route.tag;
  if (route.scope) operation.scope = name(*route.scope);
  operation.websocket = route.websocket;
  operation.problems = usual_problems(route);
  if (route.path.find("{sid}") != std::string_view::npos)
    operation.parameters.push_back(id_parameter("sid", "Id of the session"));
  if (route.path.find("{cid}") != std::string_view::npos)
    operation.parameters.push_back(id_parameter("cid", "Id of the command"));
  if (route.path.find("{port}") != std::string_view::npos) {
    operation.parameters.push_back({.name = "port",
                                    .in = protocol::ApiParameter::In::path,
                                    .help = "Port of 127.0.0.1 or, if that refuses, of ::1; not one of the agent's own",
                                    .schema = R"({"type":"integer","minimum":1,"maximum":65535})"});
  }
  if (route.path.find("{path}") != std::string_view::npos) operation.parameters.push_back(path_parameter(route));
  for (const QueryParameter& parameter : route.query) {
    operation.parameters.push_back({.name = std::string{parameter.name},
                                    .in = protocol::ApiParameter::In::query,
                                    .help = std::string{parameter.help},
                                    .schema = std::string{parameter.schema},
                                    .required = parameter.required,
                                    .repeated = parameter.repeated});
  }
  if (route.describe != nullptr) route.describe(operation);
  if (operation.websocket) operation.description += (operation.description.empty() ? "" : " ") + in_a_browser(route);
  return operation;
}

/// Appends an operation for each method, because OpenAPI cannot express any method. HEAD is implied by GET.
void append_passed_on(std::vector<protocol::ApiOperation>& operations, const Route& route) {
  constexpr std::array kMethods{std::pair{"GET", "get"},       std::pair{"POST", "post"},
                                std::pair{"PUT", "put"},       std::pair{"PATCH", "patch"},
                                std::pair{"DELETE", "delete"}, std::pair{"OPTIONS", "options"}};
  for (const auto& [method, word] : kMethods) {
    protocol::ApiOperation operation = operation_of(route, method);
    operation.operation_id = word + operation.operation_id;
    operations.push_back(std::move(operation));
  }
}

}  // namespace

const std::string& openapi_document() {
  static const std::string document = [] {
    std::vector<protocol::ApiOperation> operations;
    for (const Route& route : routes()) {
      if (route.passes_on()) {
        append_passed_on(operations, route);
      } else {
        operations.push_back(operation_of(route, route.method));
      }
    }
    const protocol::ApiInfo info{
        .title = "skiffd",
        .version = "1",
        .description =
            "Sessions and commands in a sandbox. Fields are only ever added. An optional field of a "
            "request may also be null. /v1/commands and "
            "/v1/files are short for those of the session `default`. The messages of "
            "WebSockets are in /asyncapi.json.",
        .server = "http://" + std::string{kDefaultHost}};
    return protocol::openapi_json(info, operations, std::array{watch_event_schema()});
  }();
  return document;
}

}  // namespace skiff::runtime::api
