#pragma once

#include "protocol/json/openapi.hpp"

/// The descriptions of the routes for the OpenAPI document: their requests, answers and own errors. The errors that any
/// route of its kind may have (401, 404 for a path with an id, 413 for a body, ...) are derived from its row.
namespace skiff::runtime::api {

void describe_introduction(protocol::ApiOperation& operation);
void describe_status(protocol::ApiOperation& operation);
void describe_openapi(protocol::ApiOperation& operation);
void describe_asyncapi(protocol::ApiOperation& operation);
void describe_version(protocol::ApiOperation& operation);
void describe_capabilities(protocol::ApiOperation& operation);
void describe_metrics(protocol::ApiOperation& operation);
void describe_stats(protocol::ApiOperation& operation);
void describe_ports(protocol::ApiOperation& operation);
void describe_open_port(protocol::ApiOperation& operation);
void describe_port(protocol::ApiOperation& operation);
void describe_activity(protocol::ApiOperation& operation);
void describe_init(protocol::ApiOperation& operation);
void describe_lease(protocol::ApiOperation& operation);
void describe_run(protocol::ApiOperation& operation);
void describe_shell(protocol::ApiOperation& operation);
void describe_create_session(protocol::ApiOperation& operation);
void describe_put_session(protocol::ApiOperation& operation);
void describe_session(protocol::ApiOperation& operation);
void describe_session_list(protocol::ApiOperation& operation);
void describe_patch_session(protocol::ApiOperation& operation);
void describe_delete_session(protocol::ApiOperation& operation);
void describe_process_list(protocol::ApiOperation& operation);
void describe_wait(protocol::ApiOperation& operation);
void describe_run_code(protocol::ApiOperation& operation);
void describe_code_contexts(protocol::ApiOperation& operation);
void describe_create_code_context(protocol::ApiOperation& operation);
void describe_delete_code_context(protocol::ApiOperation& operation);
void describe_start_command(protocol::ApiOperation& operation);
void describe_command(protocol::ApiOperation& operation);
void describe_command_list(protocol::ApiOperation& operation);
void describe_delete_command(protocol::ApiOperation& operation);
void describe_stream(protocol::ApiOperation& operation);
void describe_write_stdin(protocol::ApiOperation& operation);
void describe_signal(protocol::ApiOperation& operation);
void describe_resize(protocol::ApiOperation& operation);
void describe_run_socket(protocol::ApiOperation& operation);
void describe_attach(protocol::ApiOperation& operation);

}  // namespace skiff::runtime::api
