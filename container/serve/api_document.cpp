#include "container/serve/api_document.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "container/serve/e2b_bodies.hpp"
#include "container/serve/own_bodies.hpp"
#include "container/serve/route.hpp"
#include "protocol/json/openapi.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/json/sse.hpp"

namespace skiff::container::serve {
namespace {

using protocol::ApiBody;
using protocol::ApiOperation;
using protocol::ApiParameter;
using protocol::ApiResponse;
using protocol::SchemaRef;

constexpr std::string_view kJsonType = "application/json";
constexpr unsigned kNoContent = 204;

std::string_view scope_word(KeyScope scope) {
  return protocol::EnumNames<KeyScope>::values[static_cast<std::size_t>(scope)].name;
}

template <class T>
ApiBody body_of_type() {
  return {.content_type = std::string{kJsonType},
          .schema = {.name = std::string{T::kSchemaName}, .json = protocol::json_schema<T>()}};
}

template <class T>
ApiResponse answer_of_type(unsigned status, std::string_view description) {
  return {.status = status, .description = std::string{description}, .bodies = {body_of_type<T>()}};
}

/// "POST /v1/sandboxes/{id}/stop" is "postV1SandboxesStop".
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

void describe_own(const Route& route, ApiOperation& operation) {
  const std::string_view path = route.path;
  if (path == "/v1/sandboxes" && route.method == "POST") {
    operation.request = {body_of_type<own::CreateSandbox>()};
    operation.request_required = false;
    operation.parameters = {{.name = "Idempotency-Key",
                             .in = ApiParameter::In::header,
                             .help = "Of the client's choice: the same one makes no second sandbox"}};
    operation.responses = {
        answer_of_type<own::SandboxView>(201, "It was made"),
        answer_of_type<own::SandboxView>(
            200, "It existed: created before with this Idempotency-Key, or has this name and get_or_create was set"),
        answer_of_type<own::SandboxView>(202, "It is being made")};
    operation.problems = {404, 409, 429, 501, 502};
  } else if (path == "/v1/sandboxes") {
    operation.parameters = {
        {.name = "label", .help = "NAME=VALUE", .schema = R"({"type":"string","pattern":"^[^=]+="})", .repeated = true},
        {.name = "state",
         .help = "How they are",
         .schema = R"({"type":"string","enum":["creating","running","stopped","ended","failed"]})"},
        {.name = "owner", .help = "Whose they are, within the tenant"},
        {.name = "cursor", .help = "`next` of the page before"},
        {.name = "limit", .help = "Of a page", .schema = R"({"type":"integer","minimum":1,"maximum":500})"}};
    operation.responses = {answer_of_type<own::SandboxList>(200, "One page of them")};
  } else if (path.ends_with("/events")) {
    operation.description =
        "Events `phase` ({phase, detail}: scheduling, pulling, starting), and at the end one `ready` with the sandbox "
        "or `failed` with a problem. For a sandbox that another process brings up, only the last event is sent.";
    operation.responses = {{.status = 200,
                            .description = "The events",
                            .bodies = {{.content_type = std::string{protocol::kEventStreamType},
                                        // OpenAPI 3.0 has no word for events: readers differ in what one is.
                                        .schema = {.json = "{}"}}}}};
    operation.problems = {404};
  } else if (path == "/v1/sandboxes/{id}" && route.method == "GET") {
    operation.parameters = {{.name = "wait",
                             .help = "Not before it is up, or can't be brought up, which is an error then",
                             .schema = R"({"type":"string","enum":["ready"]})"},
                            {.name = "timeout_ms",
                             .help = "Of that wait, then the answer says how it is",
                             .schema = R"({"type":"integer","minimum":0,"maximum":600000,"default":30000})"}};
    operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
    operation.problems = {404, 502};
  } else if (path == "/v1/pools") {
    operation.responses = {answer_of_type<own::PoolList>(200, "All of them")};
  } else if (path == "/v1/pools/{id}") {
    operation.responses = {answer_of_type<PoolStatus>(200, "The pool")};
    operation.problems = {404};
  } else if (path == "/v1/me") {
    operation.responses = {answer_of_type<own::KeyView>(200, "The key")};
  } else if (path.ends_with("/tokens")) {
    operation.request = {body_of_type<own::MakeToken>()};
    operation.request_required = false;
    operation.responses = {answer_of_type<own::TokenView>(201, "It was made")};
    operation.problems = {404, 409};
  } else if (path.ends_with("/previews")) {
    operation.request = {body_of_type<own::MakePreview>()};
    operation.responses = {answer_of_type<own::PreviewView>(201, "It was made")};
    operation.problems = {404, 501};
  } else if (path.ends_with("/extend")) {
    operation.request = {body_of_type<own::ExtendSandbox>()};
    operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
    operation.problems = {404, 409};
  } else if (path.ends_with("/stop")) {
    operation.request = {body_of_type<own::StopSandbox>()};
    operation.request_required = false;
    operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
    operation.problems = {404, 409, 501};
  } else if (route.method == "DELETE") {
    operation.parameters = {
        {.name = "uid", .help = "Only if it is this one, and not another that has got its name"},
        {.name = "state",
         .help = "Only while it is so",
         .schema = R"({"type":"string","enum":["creating","running","stopped","ended","failed"]})"},
        {.name = "grace_ms",
         .help = "For what runs in it to end by itself",
         .schema = R"({"type":"integer","minimum":0,"maximum":300000,"default":2000})"},
        {.name = "Idempotency-Key",
         .in = ApiParameter::In::header,
         .help = "Only the one that was made with it: takes back a creation whose answer was lost"}};
    operation.responses = {{.status = 204, .description = "Nothing of it is left"}};
    operation.problems = {404, 501};
  } else if (path.starts_with("/v1/")) {
    operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
    operation.problems = {404, 409};
  } else {
    operation.responses = {{.status = 200, .description = "Done"}};
  }
}

/// Its bodies are described by E2B; which status is which of them generators have to know.
void describe_e2b(const Route& route, ApiOperation& operation) {
  if (route.takes_body) operation.request = {{.content_type = std::string{kJsonType}}};
  operation.request_required = false;
  operation.error = body_of_type<e2b::Refusal>();
  const auto answers = [&operation](unsigned status) {
    ApiResponse response{.status = status, .description = "As E2B's API has it"};
    if (status != kNoContent) response.bodies = {{.content_type = std::string{kJsonType}}};
    operation.responses.push_back(std::move(response));
  };
  const std::string_view path = route.path;
  if (route.summary == kNotOffered) {
    operation.problems = {501};
  } else if (path.ends_with("/connect")) {
    answers(200);
    answers(201);
  } else if ((path.ends_with("sandboxes") && route.method == "POST") || path.ends_with("/resume")) {
    answers(201);
  } else {
    answers(route.method == "GET" ? 200 : kNoContent);
  }
}

}  // namespace

std::string api_document() {
  std::vector<ApiOperation> operations;
  for (const Route& route : routes()) {
    ApiOperation operation{.method = std::string{route.method},
                           .path = std::string{route.path},
                           .operation_id = operation_id(route),
                           .summary = std::string{route.summary},
                           .tag = route.face == Face::own ? "sandboxes" : "e2b",
                           .scope = std::string{route.scope ? scope_word(*route.scope) : ""}};
    if (route.face == Face::own) {
      describe_own(route, operation);
    } else {
      describe_e2b(route, operation);
    }
    operations.push_back(std::move(operation));
  }
  return protocol::openapi_json({.title = "skiff serve",
                                 .version = SKIFF_VERSION,
                                 .description = "Sandboxes for clients with an API key. Operations with the tag e2b "
                                                "are for E2B's SDKs, and documented by E2B.",
                                 .key_field = "X-API-Key"},
                                operations);
}

}  // namespace skiff::container::serve
