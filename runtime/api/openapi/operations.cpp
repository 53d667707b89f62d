#include "runtime/api/openapi/operations.hpp"

#include "runtime/api/agent/agent_routes.hpp"
#include "runtime/api/agent/init.hpp"
#include "runtime/api/agent/init_request.hpp"
#include "runtime/api/agent/telemetry_routes.hpp"
#include "runtime/api/code/code_requests.hpp"
#include "runtime/api/openapi/answer_schemas.hpp"
#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/openapi/operation_parts.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/api/sessions/session_routes.hpp"
#include "runtime/api/sessions/wait_routes.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::ApiBody;
using protocol::ApiOperation;
using protocol::ApiResponse;

/// The first type is one that every client generator supports: many use only the first of an answer.
std::vector<ApiBody> stream_bodies() {
  return {{kBytes, bytes()},
          {"application/x-ndjson", event_schema()},
          {"text/event-stream", {.name = {}, .json = R"({"type":"string"})"}}};
}

}  // namespace

void describe_introduction(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The agent", introduction_answer().schema()));
}

void describe_status(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The check succeeded", status_schema()));
}

void describe_openapi(ApiOperation& operation) {
  operation.responses.push_back(json(200, "OpenAPI 3.0", {.name = {}, .json = R"({"type":"object"})"}));
}

void describe_asyncapi(ApiOperation& operation) {
  operation.responses.push_back(json(200, "AsyncAPI 3.0", {.name = {}, .json = R"({"type":"object"})"}));
}

void describe_version(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The version", version_answer().schema()));
}

void describe_capabilities(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The capabilities", capabilities_answer().schema()));
}

void describe_metrics(ApiOperation& operation) {
  operation.responses.push_back({.status = 200,
                                 .description = "Prometheus text format 0.0.4",
                                 .bodies = {{"text/plain", {.name = {}, .json = R"({"type":"string"})"}}},
                                 .headers = {}});
}

void describe_stats(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The statistics; unknown figures are null", stats_answer().schema()));
}

void describe_ports(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The sockets, sorted by port", ports_schema()));
}

void describe_port(ApiOperation& operation) {
  if (operation.method != "GET" && operation.method != "DELETE") {
    // The body may have any content type. Client generators leave out a body of a type that they do not support.
    operation.request.push_back(
        {"application/octet-stream", {.name = {}, .json = R"({"type":"string","format":"binary"})"}});
    operation.request_required = false;
  }
  operation.responses.push_back(
      {.status = 200, .description = "The server's answer, with any status", .bodies = {}, .headers = {}});
  may_fail(operation, {408, 502, 504});
}

void describe_open_port(ApiOperation& operation) {
  operation.description =
      "The agent connects to the server before it answers; if no server listens, it answers 502. With the subprotocol "
      "skiff.v1.tcp an empty text message ends its sender's direction.";
  may_fail(operation, {502, 504});
}

void describe_activity(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The activity", activity_answer().schema()));
}

void describe_init(ApiOperation& operation) {
  takes<InitRequest>(operation, "InitRequest");
  operation.request_required = false;
  operation.responses.push_back(json(200, "setup is the result of the setup command, or null", init_answer().schema()));
  may_fail(operation, {409, 422, 429});
}

void describe_lease(ApiOperation& operation) {
  takes<LeaseRequest>(operation, "LeaseRequest");
  operation.request_required = false;
  operation.responses.push_back(json(200, "The lease as it is now", renewed_answer().schema()));
}

void describe_run(ApiOperation& operation) {
  operation.description =
      "The script may have any content type but JSON. A JSON body is a CommandRequest, whose output is sent in "
      "the same way.";
  operation.request.push_back({kBytes, bytes()});
  operation.responses.push_back(
      {.status = 200,
       .description = "The output as it comes; trailers X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes",
       .bodies = stream_bodies(),
       .headers = {{"X-Skiff-Command-Id", "Id of the command"}}});
  may_fail(operation, {404, 406, 409, 410, 413, 422, 429});
}

void describe_shell(ApiOperation& operation) {
  may_fail(operation, {404, 409, 422, 429});
}

void describe_create_session(ApiOperation& operation) {
  takes<SessionRequest>(operation, "SessionRequest");
  operation.request_required = false;
  operation.responses.push_back(json(201, "Created", session_answer().schema(), {{"Location", "The session"}}));
  may_fail(operation, {404, 409, 422, 429, 501});
}

void describe_put_session(ApiOperation& operation) {
  describe_create_session(operation);
  operation.responses.push_back(
      json(200, "The session exists, and was created with the same request", session_answer().schema()));
}

void describe_session(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The session", session_answer().schema()));
}

void describe_session_list(ApiOperation& operation) {
  operation.responses.push_back(json(200, "One page", session_list_schema()));
}

void describe_patch_session(ApiOperation& operation) {
  takes<SessionPatchRequest>(operation, "SessionPatch");
  takes<SessionPatchRequest>(operation, "SessionPatch", "application/merge-patch+json");
  operation.request_required = false;
  operation.responses.push_back(json(200, "The session as it is now", session_answer().schema()));
  may_fail(operation, {409, 422});
}

void describe_delete_session(ApiOperation& operation) {
  describe_no_content(operation);
  may_fail(operation, {409});
}

void describe_process_list(ApiOperation& operation) {
  operation.responses.push_back(json(200, "All processes", process_list_schema()));
}

void describe_wait(ApiOperation& operation) {
  takes<WaitRequest>(operation, "WaitRequest");
  operation.responses.push_back(json(200, "Whether the condition was met", wait_answer().schema()));
  may_fail(operation, {410});
}

void describe_run_code(ApiOperation& operation) {
  takes<CodeRequest>(operation, "CodeRequest");
  ApiResponse ok = json(200, "Mode wait: the answer. Mode stream: the events",
                        {.name = "CodeAnswer", .json = protocol::json_schema<CodeAnswer>()});
  ok.bodies.push_back({"application/x-ndjson", code_event_schema()});
  operation.responses.push_back(std::move(ok));
  may_fail(operation, {404, 409, 422, 429});
}

void describe_code_contexts(ApiOperation& operation) {
  operation.responses.push_back(
      json(200, "All contexts", {.name = "CodeContextList", .json = protocol::json_schema<CodeContextList>()}));
}

void describe_create_code_context(ApiOperation& operation) {
  takes<CodeContextRequest>(operation, "CodeContextRequest");
  operation.request_required = false;
  operation.responses.push_back(
      json(201, "Created", {.name = "CodeContext", .json = protocol::json_schema<CodeContextShown>()}));
  may_fail(operation, {422, 429});
}

void describe_delete_code_context(ApiOperation& operation) {
  describe_no_content(operation);
}

void describe_start_command(ApiOperation& operation) {
  takes<CommandRequest>(operation, "CommandRequest");
  ApiResponse ok = json(200, "Mode wait: the result. Mode stream: the events", started_schema());
  for (auto& body : stream_bodies()) ok.bodies.push_back(std::move(body));
  operation.responses.push_back(std::move(ok));
  operation.responses.push_back(
      json(202, "Mode background: the started command", started_schema(), {{"Location", "The command"}}));
  may_fail(operation, {406, 409, 410, 422, 429});
}

void describe_command(ApiOperation& operation) {
  operation.responses.push_back(json(200, "The command", command_schema()));
  may_fail(operation, {410});
}

void describe_command_list(ApiOperation& operation) {
  operation.responses.push_back(json(200, "One page", command_list_schema()));
}

void describe_delete_command(ApiOperation& operation) {
  describe_no_content(operation);
  may_fail(operation, {410});
}

void describe_stream(ApiOperation& operation) {
  operation.responses.push_back(
      {.status = 200, .description = "The log from the offset on", .bodies = stream_bodies(), .headers = {}});
  may_fail(operation, {406, 410});
}

void describe_write_stdin(ApiOperation& operation) {
  operation.request.push_back({kBytes, bytes()});
  operation.request_required = false;
  describe_no_content(operation);
  may_fail(operation, {409, 410});
}

void describe_signal(ApiOperation& operation) {
  takes<SignalRequest>(operation, "SignalRequest");
  describe_no_content(operation);
  may_fail(operation, {409, 410});
}

void describe_resize(ApiOperation& operation) {
  takes<sessions::TerminalSize>(operation, "TerminalSize");
  operation.request_required = false;
  describe_no_content(operation);
  may_fail(operation, {409, 410});
}

void describe_run_socket(ApiOperation& operation) {
  may_fail(operation, {409, 410, 422, 429});
}

void describe_attach(ApiOperation& operation) {
  may_fail(operation, {410});
}

}  // namespace skiff::runtime::api
