#pragma once

#include "protocol/json/openapi.hpp"

/// The descriptions of the file routes, like those in operations.hpp.
namespace skiff::runtime::api {

void describe_read_file(protocol::ApiOperation& operation);
void describe_write_file(protocol::ApiOperation& operation);
void describe_change_file(protocol::ApiOperation& operation);
void describe_delete_file(protocol::ApiOperation& operation);
void describe_list_files(protocol::ApiOperation& operation);
void describe_stat_files(protocol::ApiOperation& operation);
void describe_move_file(protocol::ApiOperation& operation);
void describe_make_directory(protocol::ApiOperation& operation);
void describe_make_link(protocol::ApiOperation& operation);
void describe_set_file_mode(protocol::ApiOperation& operation);
void describe_batch(protocol::ApiOperation& operation);
void describe_glob(protocol::ApiOperation& operation);
void describe_grep(protocol::ApiOperation& operation);
void describe_read_archive(protocol::ApiOperation& operation);
void describe_write_archive(protocol::ApiOperation& operation);
void describe_watch(protocol::ApiOperation& operation);

}  // namespace skiff::runtime::api
