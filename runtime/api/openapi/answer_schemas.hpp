#pragma once

#include "protocol/json/openapi.hpp"

/// What answers look like, for the OpenAPI document: each as a component of it. Fields are only ever added, so further
/// ones are always allowed.
namespace skiff::runtime::api {

[[nodiscard]] protocol::SchemaRef introduction_schema();
[[nodiscard]] protocol::SchemaRef status_schema();
[[nodiscard]] protocol::SchemaRef version_schema();
[[nodiscard]] protocol::SchemaRef capabilities_schema();
[[nodiscard]] protocol::SchemaRef stats_schema();
[[nodiscard]] protocol::SchemaRef ports_schema();
[[nodiscard]] protocol::SchemaRef activity_schema();
[[nodiscard]] protocol::SchemaRef init_schema();
[[nodiscard]] protocol::SchemaRef lease_schema();
[[nodiscard]] protocol::SchemaRef session_schema();
[[nodiscard]] protocol::SchemaRef session_list_schema();
[[nodiscard]] protocol::SchemaRef process_list_schema();
[[nodiscard]] protocol::SchemaRef wait_schema();
[[nodiscard]] protocol::SchemaRef command_schema();
[[nodiscard]] protocol::SchemaRef command_list_schema();
[[nodiscard]] protocol::SchemaRef result_schema();

}  // namespace skiff::runtime::api
