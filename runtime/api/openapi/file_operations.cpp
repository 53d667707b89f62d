#include "runtime/api/openapi/file_operations.hpp"

#include "runtime/api/files/archive.hpp"
#include "runtime/api/files/requests.hpp"
#include "runtime/api/openapi/answer_schemas.hpp"
#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/openapi/operation_parts.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::ApiOperation;
using protocol::SchemaRef;

const std::vector<protocol::ApiHeader> kTagged{{"ETag", "The file's strong entity tag"}};

/// Adds the errors that any route with a path can have.
void may_meet_anything(ApiOperation& operation) {
  may_fail(operation, {403, 404, 409, 507});
}

void answers_entry(ApiOperation& operation, std::initializer_list<unsigned> statuses,
                   const SchemaRef& schema = file_entry_schema()) {
  for (const unsigned status : statuses) {
    operation.responses.push_back(
        json(status, status == 201 ? "Created" : "The entry after the change", schema, kTagged));
  }
  may_meet_anything(operation);
  may_fail(operation, {412});
}

void answers_stream(ApiOperation& operation, const char* type, SchemaRef schema, std::string what) {
  operation.responses.push_back(
      {.status = 200, .description = std::move(what), .bodies = {{type, std::move(schema)}}, .headers = {}});
  may_meet_anything(operation);
}

/// Describes the lines of a search; also as bytes, for clients whose generator does not support NDJSON.
void answers_lines(ApiOperation& operation, SchemaRef record) {
  answers_stream(operation, kBytes, bytes(), "A match on each line, and a summary on the last");
  operation.responses.back().bodies.push_back({"application/x-ndjson", std::move(record)});
}

}  // namespace

void describe_read_file(ApiOperation& operation) {
  const auto body = [](unsigned status, std::string what) {
    return protocol::ApiResponse{
        .status = status, .description = std::move(what), .bodies = {{kBytes, bytes()}}, .headers = kTagged};
  };
  operation.responses.push_back(body(200, "The file"));
  operation.responses.push_back(body(206, "The requested part"));
  operation.responses.push_back(
      {.status = 304, .description = "The file has not changed", .bodies = {}, .headers = {}});
  may_meet_anything(operation);
  may_fail(operation, {416});
}

void describe_write_file(ApiOperation& operation) {
  operation.request.push_back({kBytes, bytes()});
  operation.request_required = false;
  answers_entry(operation, {200, 201});
  may_fail(operation, {408, 413, 422});
}

void describe_change_file(ApiOperation& operation) {
  takes<EditsRequest>(operation, "EditsRequest");
  operation.request.push_back({kBytes, bytes()});
  operation.request_required = false;
  answers_entry(operation, {200, 201}, edited_file_schema());
  may_fail(operation, {408, 413, 415});
}

void describe_delete_file(ApiOperation& operation) {
  describe_no_content(operation);
  may_meet_anything(operation);
  may_fail(operation, {412});
}

void describe_list_files(ApiOperation& operation) {
  operation.responses.push_back(json(200, "A page, sorted by the bytes of the paths", file_list_schema()));
  may_meet_anything(operation);
}

void describe_stat_files(ApiOperation& operation) {
  operation.responses.push_back(
      json(200, "An item for each path, in their order; {path, error} for one that failed", file_results_schema()));
}

void describe_move_file(ApiOperation& operation) {
  takes<MoveRequest>(operation, "MoveRequest");
  answers_entry(operation, {200, 201});
}

void describe_make_directory(ApiOperation& operation) {
  takes<MakeDirectoryRequest>(operation, "MakeDirectoryRequest");
  answers_entry(operation, {200, 201});
}

void describe_make_link(ApiOperation& operation) {
  takes<MakeLinkRequest>(operation, "MakeLinkRequest");
  answers_entry(operation, {201});
}

void describe_set_file_mode(ApiOperation& operation) {
  takes<SetModeRequest>(operation, "SetModeRequest");
  answers_entry(operation, {200});
}

void describe_batch(ApiOperation& operation) {
  takes<BatchRequest>(operation, "BatchRequest");
  operation.responses.push_back(
      json(200, "An item for each operation, in their order; with atomic=false an item may be {path, error}",
           file_results_schema()));
  may_meet_anything(operation);
  may_fail(operation, {412});
}

void describe_glob(ApiOperation& operation) {
  answers_lines(operation, glob_record_schema());
}

void describe_grep(ApiOperation& operation) {
  answers_lines(operation, grep_record_schema());
}

void describe_read_archive(ApiOperation& operation) {
  answers_stream(operation, kBytes, bytes(),
                 "A tar archive; the trailers X-Skiff-Left-Out and X-Skiff-Left-Out-Names list what is missing in it");
  operation.responses.back().bodies.push_back({"application/x-tar", bytes()});
  operation.responses.back().bodies.push_back({"application/gzip", bytes()});
  operation.responses.back().bodies.push_back({"application/zstd", bytes()});
}

void describe_write_archive(ApiOperation& operation) {
  operation.request.push_back({kBytes, bytes()});
  operation.responses.push_back(json(200, "Counts of what was unpacked", unpacked_answer().schema()));
  may_meet_anything(operation);
  may_fail(operation, {408, 413});
}

void describe_watch(ApiOperation& operation) {
  operation.websocket = true;  // or an event stream, depending on the request
  answers_stream(operation, "text/event-stream", {.name = {}, .json = R"({"type":"string"})"},
                 "Each event's data is a WatchEvent");
}

}  // namespace skiff::runtime::api
