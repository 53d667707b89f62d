#pragma once

#include "protocol/json/openapi.hpp"

/// What answers look like that have no `Answer` (runtime/api/answers/answer.hpp), for the OpenAPI document: each as a
/// component of it. Fields are only ever added, so further ones are always allowed.
namespace skiff::runtime::api {

[[nodiscard]] protocol::SchemaRef status_schema();
[[nodiscard]] protocol::SchemaRef ports_schema();
[[nodiscard]] protocol::SchemaRef session_list_schema();
[[nodiscard]] protocol::SchemaRef process_list_schema();
[[nodiscard]] protocol::SchemaRef command_schema();
[[nodiscard]] protocol::SchemaRef command_list_schema();
/// What starting a command answers: most generators of clients have one type for all good answers of an operation, so
/// this one has the members of a command and of a result.
[[nodiscard]] protocol::SchemaRef started_schema();

[[nodiscard]] protocol::SchemaRef file_entry_schema();
[[nodiscard]] protocol::SchemaRef edited_file_schema();
[[nodiscard]] protocol::SchemaRef file_list_schema();
/// An item for each file that was asked for or changed: its entry, or why there is none.
[[nodiscard]] protocol::SchemaRef file_results_schema();

}  // namespace skiff::runtime::api
