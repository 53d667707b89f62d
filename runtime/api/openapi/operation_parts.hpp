#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "protocol/json/openapi.hpp"
#include "protocol/json/schema.hpp"

/// Parts of the descriptions of routes.
namespace skiff::runtime::api {

inline constexpr const char* kJson = "application/json";
inline constexpr const char* kBytes = "application/octet-stream";

[[nodiscard]] inline protocol::SchemaRef bytes() {
  return {.name = {}, .json = R"({"type":"string","format":"binary"})"};
}

[[nodiscard]] inline protocol::ApiResponse json(unsigned status, std::string description, protocol::SchemaRef schema,
                                                std::vector<protocol::ApiHeader> headers = {}) {
  return {.status = status,
          .description = std::move(description),
          .bodies = {{kJson, std::move(schema)}},
          .headers = std::move(headers)};
}

inline void describe_no_content(protocol::ApiOperation& operation) {
  operation.responses.push_back({.status = 204, .description = "Done", .bodies = {}, .headers = {}});
}

template <class T>
void takes(protocol::ApiOperation& operation, std::string name, const char* type = kJson) {
  operation.request.push_back({type, {std::move(name), protocol::json_schema<T>()}});
}

inline void may_fail(protocol::ApiOperation& operation, std::initializer_list<unsigned> statuses) {
  operation.problems.insert(operation.problems.end(), statuses);
}

}  // namespace skiff::runtime::api
