#include "container/serve/api/document.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "container/serve/e2b/bodies.hpp"
#include "container/serve/route.hpp"
#include "protocol/json/openapi.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container::serve {
namespace {

using protocol::ApiOperation;
using protocol::service::Body;

constexpr std::string_view kJsonBody = "application/json";

std::string_view scope_word(KeyScope scope) {
  return protocol::EnumNames<KeyScope>::values[static_cast<std::size_t>(scope)].name;
}

/// The id of "POST /v1/sandboxes/{id}/stop" is "postV1SandboxesStopById".
std::string operation_id(const Route& route) {
  std::string id;
  for (const char c : route.method) id += static_cast<char>(c | 0x20);
  bool is_first = false;
  bool in_parameter = false;
  for (const char c : route.path) {
    in_parameter = (in_parameter || c == '{') && c != '}';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_letter && !in_parameter) id += is_first && c >= 'a' ? static_cast<char>(c & ~0x20) : c;
    is_first = !is_letter;
  }
  return route.path.contains("{id}") ? id + "ById" : id;
}

}  // namespace

std::string api_document() {
  std::vector<ApiOperation> operations;
  for (const Route& route : routes()) {
    ApiOperation operation{.method = std::string{route.method},
                           .path = std::string{route.path},
                           .operation_id = operation_id(route),
                           .summary = std::string{route.summary},
                           .tag = std::string{route.tag},
                           .scope = std::string{route.scope ? scope_word(*route.scope) : ""}};
    if (face_of(route) == Face::e2b) {
      // E2B documents its bodies; this document lists only the statuses, which generators need.
      if (route.body == Body::json) operation.request = {{.content_type = std::string{kJsonBody}}};
      operation.request_required = false;
      operation.error = {
          .content_type = std::string{kJsonBody},
          .schema = {.name = std::string{e2b::Refusal::kSchemaName}, .json = protocol::json_schema<e2b::Refusal>()}};
    }
    route.describe(operation);
    operations.push_back(std::move(operation));
  }
  return protocol::openapi_json({.title = "skiff serve",
                                 .version = SKIFF_VERSION,
                                 .description = "Sandboxes for clients with an API key. Operations with the tag e2b "
                                                "are for E2B's SDKs; E2B documents them.",
                                 .key_field = "X-API-Key"},
                                operations);
}

}  // namespace skiff::container::serve
