#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a route table says about itself, and the OpenAPI 3.0 document made from it.
namespace skiff::protocol {

/// A JSON Schema in text (see `json_schema<T>()`). With a name it becomes a component that operations refer to;
/// without, it stands where it is used. Schemas inside of it that have a `title` become components of that name. Empty
/// json: no schema.
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
  bool repeated = false;  ///< `schema` is that of one of them
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
  std::vector<ApiBody> bodies = {};  ///< one per content type that can be asked for
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
  std::vector<ApiParameter> parameters = {};  ///< path parameters that are missing here are added
  std::vector<ApiBody> request = {};
  bool request_required = true;
  std::vector<ApiResponse> responses = {};
  std::vector<unsigned> problems = {};  ///< statuses of the errors that it is known to give
  ApiBody error = {};                   ///< what tells them, where that is not a problem document
  bool websocket = false;               ///< adds 101 and 426
};

struct ApiInfo {
  std::string title = {};
  std::string version = {};
  std::string description = {};
  std::string server = {};                  ///< where clients look for it unless they are told; empty: not said
  std::string key_field = "X-Skiff-Token";  ///< of a request that shows its credential without `Authorization`
};

/// The document as JSON text, for OpenAPI 3.0.3 (protocol/json/openapi_schema.hpp says why). Every operation gets a
/// `default` response of application/problem+json whose schema lists every error code, or of its own `error`, but for
/// those that answer NDJSON; those with a scope get the bearer and X-Skiff-Token schemes, `x-scope`, and a 401 and 403;
/// `problems` are named one by one. `components` are schemas that no operation refers to, or that others refer to by
/// $ref.
[[nodiscard]] std::string openapi_json(const ApiInfo& info, std::span<const ApiOperation> operations,
                                       std::span<const SchemaRef> components = {});

}  // namespace skiff::protocol
