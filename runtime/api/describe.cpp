#include "runtime/api/describe.hpp"

#include "protocol/schema.hpp"
#include "runtime/api/init_request.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/api/wait_request.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::ApiBody;
using protocol::ApiOperation;
using protocol::ApiResponse;
using protocol::SchemaRef;

constexpr const char* kJson = "application/json";

SchemaRef object() {
  return {.name = {}, .json = R"({"type":"object"})"};
}

ApiResponse json(unsigned status, std::string description, SchemaRef schema = object()) {
  return {
      .status = status, .description = std::move(description), .bodies = {{kJson, std::move(schema)}}, .headers = {}};
}

template <class T>
void takes(ApiOperation& operation, std::string name, const char* type = kJson) {
  operation.request.push_back({type, {std::move(name), protocol::json_schema<T>()}});
}

SchemaRef event_schema() {
  return {
      .name = "Event",
      .json =
          R"({"type":"object","required":["type"],"properties":{"type":{"enum":["started","output","gap","exit","end","keepalive","error"]}}})"};
}

std::vector<ApiBody> stream_bodies() {
  return {{"application/x-ndjson", event_schema()},
          {"text/event-stream", {.name = {}, .json = R"({"type":"string"})"}},
          {"application/octet-stream", {.name = {}, .json = R"({"type":"string","format":"binary"})"}}};
}

}  // namespace

void describe_status(ApiOperation& operation) {
  operation.responses.push_back(
      json(200, "It is",
           {.name = "Status",
            .json = R"({"type":"object","required":["status"],"properties":{"status":{"type":"string"}}})"}));
}

void describe_object(ApiOperation& operation) {
  operation.responses.push_back(json(200, "As asked for"));
}

void describe_list(ApiOperation& operation) {
  operation.responses.push_back(json(
      200, "One page",
      {.name = "List",
       .json =
           R"({"type":"object","required":["items"],"properties":{"items":{"type":"array","items":{"type":"object"}},"next_cursor":{"type":"string"}}})"}));
}

void describe_no_content(ApiOperation& operation) {
  operation.responses.push_back({.status = 204, .description = "Done", .bodies = {}, .headers = {}});
}

void describe_metrics(ApiOperation& operation) {
  operation.responses.push_back({.status = 200,
                                 .description = "Prometheus text format 0.0.4",
                                 .bodies = {{"text/plain", {.name = {}, .json = R"({"type":"string"})"}}},
                                 .headers = {}});
}

void describe_stats(ApiOperation& operation) {
  operation.responses.push_back(json(200, "What is not known here is null"));
}

void describe_ports(ApiOperation& operation) {
  operation.responses.push_back(json(200, "By port"));
}

void describe_activity(ApiOperation& operation) {
  operation.responses.push_back(json(200, "As it is now"));
}

void describe_init(ApiOperation& operation) {
  takes<InitRequest>(operation, "InitRequest");
  operation.responses.push_back(json(200, "Done; setup is the result of the setup command, or null"));
}

void describe_lease(ApiOperation& operation) {
  takes<LeaseRequest>(operation, "LeaseRequest");
  operation.responses.push_back(json(200, "The lease as it is now"));
}

void describe_run(ApiOperation& operation) {
  operation.request.push_back({"text/plain", {.name = {}, .json = R"({"type":"string"})"}});
  takes<CommandRequest>(operation, "CommandRequest");
  operation.responses.push_back(
      {.status = 200,
       .description = "The output as it comes; trailers X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes",
       .bodies = stream_bodies(),
       .headers = {{"X-Skiff-Command-Id", "Id of the command"}}});
}

void describe_create_session(ApiOperation& operation) {
  takes<SessionRequest>(operation, "SessionRequest");
  operation.request_required = false;
  operation.responses.push_back(json(201, "Created"));
}

void describe_put_session(ApiOperation& operation) {
  takes<SessionRequest>(operation, "SessionRequest");
  operation.request_required = false;
  operation.responses.push_back(json(201, "Created"));
  operation.responses.push_back(json(200, "It was there, created with the same request"));
}

void describe_patch_session(ApiOperation& operation) {
  takes<SessionPatchRequest>(operation, "SessionPatch", "application/merge-patch+json");
  takes<SessionPatchRequest>(operation, "SessionPatch");
  operation.responses.push_back(json(200, "The session as it is now"));
}

void describe_wait(ApiOperation& operation) {
  takes<WaitRequest>(operation, "WaitRequest");
  operation.responses.push_back(
      json(200, "Whether it was met",
           {.name = "WaitAnswer",
            .json = R"({"type":"object","required":["met"],"properties":{"met":{"type":"boolean"}}})"}));
}

void describe_start_command(ApiOperation& operation) {
  takes<CommandRequest>(operation, "CommandRequest");
  ApiResponse ok = json(200, "Mode wait: the result. Mode stream: the events");
  for (auto& body : stream_bodies()) ok.bodies.push_back(std::move(body));
  operation.responses.push_back(std::move(ok));
  operation.responses.push_back(json(202, "Mode background: it was started"));
}

void describe_stream(ApiOperation& operation) {
  operation.responses.push_back(
      {.status = 200, .description = "The log, from the offset on", .bodies = stream_bodies(), .headers = {}});
}

void describe_write_stdin(ApiOperation& operation) {
  operation.request.push_back(
      {"application/octet-stream", {.name = {}, .json = R"({"type":"string","format":"binary"})"}});
  describe_no_content(operation);
}

void describe_signal(ApiOperation& operation) {
  takes<SignalRequest>(operation, "SignalRequest");
  describe_no_content(operation);
}

void describe_resize(ApiOperation& operation) {
  takes<sessions::TerminalSize>(operation, "TerminalSize");
  describe_no_content(operation);
}

}  // namespace skiff::runtime::api
