#include "runtime/mcp/routes.hpp"

#include <array>

#include "protocol/json/sse.hpp"
#include "runtime/api/openapi/operation_parts.hpp"
#include "runtime/mcp/endpoint.hpp"

namespace skiff::runtime::mcp {
namespace {

/// Describes the refusals, which are JSON-RPC errors.
void add_refusals(protocol::ApiOperation& operation) {
  for (const unsigned status : {400U, 404U}) {
    operation.responses.push_back(api::json(status, "A JSON-RPC error", {.name = {}, .json = R"({"type":"object"})"}));
  }
}

protocol::ApiBody event_stream() {
  return {std::string{protocol::kEventStreamType}, {.name = {}, .json = R"({"type":"string"})"}};
}

void describe_endpoint(protocol::ApiOperation& operation) {
  operation.description =
      "Revision 2025-03-26 also has batches: an array of messages, which is answered with an array.";
  const protocol::ApiBody json{api::kJson, {.name = {}, .json = R"({"type":"object"})"}};
  operation.request.push_back(json);
  operation.responses.push_back(
      {.status = 200,
       .description = "The answer to a request",
       .bodies = {json, event_stream()},
       .headers = {{"Mcp-Session-Id", "After initialize: send it with every later request"}}});
  operation.responses.push_back(
      {.status = 202, .description = "The notification was taken", .bodies = {}, .headers = {}});
  add_refusals(operation);
  api::may_fail(operation, {406, 503});
}

void describe_news(protocol::ApiOperation& operation) {
  operation.responses.push_back({.status = 200,
                                 .description = "Messages, until the client disconnects",
                                 .bodies = {event_stream()},
                                 .headers = {}});
  add_refusals(operation);
  api::may_fail(operation, {405, 406});
}

void describe_end(protocol::ApiOperation& operation) {
  api::describe_no_content(operation);
  add_refusals(operation);
  api::may_fail(operation, {405});
}

constexpr std::array kRows{
    api::Route{.method = "POST",
               .path = "/mcp",
               .operation_id = "mcpSend",
               .summary = "One message of the Model Context Protocol (docs/mcp.md)",
               .tag = "mcp",
               .scope = Scope::read,
               .body = api::Body::json,
               .while_draining = false,
               .handler = receive_message,
               .describe = describe_endpoint},
    api::Route{.method = "GET",
               .path = "/mcp",
               .operation_id = "mcpListen",
               .summary = "Messages that the server of the Model Context Protocol sends by itself",
               .tag = "mcp",
               .scope = Scope::read,
               .while_draining = false,
               .is_use = false,
               .handler = send_news,
               .describe = describe_news},
    api::Route{.method = "DELETE",
               .path = "/mcp",
               .operation_id = "mcpEnd",
               .summary = "End a session of the Model Context Protocol",
               .tag = "mcp",
               .scope = Scope::read,
               .is_use = false,
               .handler = end_session,
               .describe = describe_end},
};

}  // namespace

std::span<const api::Route> routes() {
  return kRows;
}

}  // namespace skiff::runtime::mcp
