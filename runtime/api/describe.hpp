#pragma once

#include "protocol/openapi.hpp"

/// What goes into and comes out of each route, for the OpenAPI document.
namespace skiff::runtime::api {

void describe_status(protocol::ApiOperation& operation);
void describe_object(protocol::ApiOperation& operation);
void describe_list(protocol::ApiOperation& operation);
void describe_no_content(protocol::ApiOperation& operation);
void describe_metrics(protocol::ApiOperation& operation);
void describe_stats(protocol::ApiOperation& operation);
void describe_ports(protocol::ApiOperation& operation);
void describe_activity(protocol::ApiOperation& operation);
void describe_init(protocol::ApiOperation& operation);
void describe_lease(protocol::ApiOperation& operation);
void describe_run(protocol::ApiOperation& operation);
void describe_create_session(protocol::ApiOperation& operation);
void describe_put_session(protocol::ApiOperation& operation);
void describe_patch_session(protocol::ApiOperation& operation);
void describe_wait(protocol::ApiOperation& operation);
void describe_start_command(protocol::ApiOperation& operation);
void describe_stream(protocol::ApiOperation& operation);
void describe_write_stdin(protocol::ApiOperation& operation);
void describe_signal(protocol::ApiOperation& operation);
void describe_resize(protocol::ApiOperation& operation);

}  // namespace skiff::runtime::api
