#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The description of a route table, and the OpenAPI 3.0 document generated from it.
namespace skiff::protocol {

/// A JSON Schema as text (see `json_schema<T>()`). A named schema becomes a component that operations refer to; a
/// schema without a name is inline. Inner schemas with a `title` become components of that name. Empty json: no schema.
struct SchemaRef {
  std::string name = {};
  std::string json = {};
};

struct ApiParameter {
  enum class In : std::uint8_t { path, query, header };
  std::string name = {};
  In in = In::query;
  std::string help = {};
  std::string schema = R"({"type":"string"})";
  bool required = false;  ///< path parameters always are
  bool repeated = false;  ///< `schema` is that of one value
};

struct ApiBody {
  std::string content_type = {};  ///< empty: no body
  SchemaRef schema = {};
};

struct ApiHeader {
  std::string name = {};
  std::string help = {};
};

struct ApiResponse {
  unsigned status = 200;
  std::string description = {};
  std::vector<ApiBody> bodies = {};  ///< one per content type that a client can ask for
  std::vector<ApiHeader> headers = {};
};

struct ApiOperation {
  std::string method = {};  ///< "GET"
  std::string path = {};    ///< "/v1/sessions/{sid}"; a trailing "{path...}" takes the rest and is shown as "{path}"
  std::string operation_id = {};
  std::string summary = {};
  std::string description = {};
  std::string tag = {};
  std::string scope = {};                     ///< "read", "exec", "ports", "admin"; empty: no credential needed
  std::vector<ApiParameter> parameters = {};  ///< missing path parameters are added
  std::vector<ApiBody> request = {};
  bool request_required = true;
  std::vector<ApiResponse> responses = {};
  std::vector<unsigned> problems = {};  ///< known statuses of its errors
  ApiBody error = {};                   ///< body of its errors, unless that is a problem document
  bool websocket = false;               ///< adds 101 and 426
};

struct ApiInfo {
  std::string title = {};
  std::string version = {};
  std::string description = {};
  std::string server = {};                  ///< default address of the server; empty: none
  std::string key_field = "X-Skiff-Token";  ///< header for the credential of a request without `Authorization`
};

/// Generates the document as JSON text, for OpenAPI 3.0.3 (protocol/json/openapi_schema.hpp says why). Every operation
/// except those with an NDJSON response gets a `default` response of application/problem+json, whose schema lists every
/// error code, or its own `error`. Operations with a scope get the bearer and X-Skiff-Token schemes, `x-scope`, and a
/// 401 and 403; `problems` are listed one by one. `components` are schemas that no operation refers to, or that others
/// refer to by $ref.
[[nodiscard]] std::string openapi_json(const ApiInfo& info, std::span<const ApiOperation> operations,
                                       std::span<const SchemaRef> components = {});

}  // namespace skiff::protocol
