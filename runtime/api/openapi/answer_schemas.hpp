#pragma once

#include "protocol/json/openapi.hpp"

/// Components of the OpenAPI document for answers without an `Answer` (runtime/api/answers/answer.hpp). Fields are only
/// ever added, so further ones are always allowed.
namespace skiff::runtime::api {

[[nodiscard]] protocol::SchemaRef status_schema();
[[nodiscard]] protocol::SchemaRef ports_schema();
[[nodiscard]] protocol::SchemaRef session_list_schema();
[[nodiscard]] protocol::SchemaRef process_list_schema();
[[nodiscard]] protocol::SchemaRef command_schema();
[[nodiscard]] protocol::SchemaRef command_list_schema();
/// The answer to the start of a command. Most client generators use one type for all successful answers of an
/// operation, so it has the members of a command and of a result.
[[nodiscard]] protocol::SchemaRef started_schema();

[[nodiscard]] protocol::SchemaRef file_entry_schema();
[[nodiscard]] protocol::SchemaRef edited_file_schema();
[[nodiscard]] protocol::SchemaRef file_list_schema();
/// A list with an item for each file that was requested or changed: its entry, or the error.
[[nodiscard]] protocol::SchemaRef file_results_schema();

}  // namespace skiff::runtime::api
