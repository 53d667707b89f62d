#include <string>
#include <utility>

#include "container/serve/api/bodies.hpp"
#include "container/serve/api/event_routes.hpp"
#include "container/serve/api/list_stream.hpp"
#include "container/serve/api/network_log.hpp"
#include "container/serve/api/routes.hpp"
#include "container/serve/e2b/routes.hpp"
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
using enum KeyScope;
using protocol::service::Body;

constexpr std::string_view kJsonType = "application/json";
constexpr unsigned kNoContent = 204;

template <class T>
ApiBody body_of_type() {
  return {.content_type = std::string{kJsonType},
          .schema = {.name = std::string{T::kSchemaName}, .json = protocol::json_schema<T>()}};
}

template <class T>
ApiResponse answer_of_type(unsigned status, std::string_view description) {
  return {.status = status, .description = std::string{description}, .bodies = {body_of_type<T>()}};
}

void describe_create(ApiOperation& operation) {
  operation.request = {body_of_type<own::CreateSandbox>()};
  operation.request_required = false;
  operation.parameters = {
      {.name = "Idempotency-Key",
       .in = ApiParameter::In::header,
       .help = "Key that the client chooses: a repeated request with it creates no second sandbox"}};
  operation.responses = {
      answer_of_type<own::SandboxView>(201, "The sandbox was created"),
      answer_of_type<own::SandboxView>(200,
                                       "The sandbox existed: it was created with this Idempotency-Key, or it has this "
                                       "name and get_or_create is set"),
      answer_of_type<own::SandboxView>(202, "The sandbox is being created")};
  operation.problems = {404, 409, 429, 501, 502};
}

void describe_list(ApiOperation& operation) {
  operation.parameters = {{.name = "label",
                           .help = "Only sandboxes with this label: NAME=VALUE",
                           .schema = R"({"type":"string","pattern":"^[^=]+="})",
                           .repeated = true},
                          {.name = "state",
                           .help = "Only sandboxes in this state",
                           .schema = R"({"type":"string","enum":["creating","running","stopped","ended","failed"]})"},
                          {.name = "owner", .help = "Only sandboxes of this owner, within the tenant"},
                          {.name = "cursor", .help = "`next` of the previous page"},
                          {.name = "limit",
                           .help = "Most sandboxes on a page",
                           .schema = R"({"type":"integer","minimum":1,"maximum":500})"}};
  operation.responses = {answer_of_type<own::SandboxList>(200, "A page of sandboxes")};
}

void describe_events(ApiOperation& operation) {
  operation.description =
      "Events `phase` ({phase, detail}: scheduling, pulling, starting), and at the end one `ready` with the sandbox "
      "or `failed` with a problem. For a sandbox that another process brings up, only the last event is sent.";
  operation.responses = {{.status = 200,
                          .description = "A stream of events",
                          .bodies = {{.content_type = std::string{protocol::kEventStreamType},
                                      // OpenAPI 3.0 cannot describe events, and tools disagree about them.
                                      .schema = {.json = "{}"}}}}};
  operation.problems = {404};
}

void describe_list_events(ApiOperation& operation) {
  operation.description =
      "Each event is JSON with `type`, and with `cursor`, which is its id, too. First come events `snapshot` "
      "({items, more}), the last of them with `more: false`; then `added`, `changed` and `removed` ({sandbox}). `gap` "
      "says that events were missed, and new events `snapshot` follow. `unavailable` ({code, detail}) says that the "
      "list cannot be read now, and `available` that it can be again. `error` ({code, detail}) is the last event: the "
      "key has ended, or this server stops.";
  operation.parameters = {{.name = "owner", .help = "Only sandboxes of this owner, within the tenant"},
                          {.name = "cursor", .help = "Cursor of the last event received, like Last-Event-ID"}};
  operation.responses = {
      {.status = 200,
       .description = "A stream of events",
       .bodies = {{.content_type = std::string{protocol::kEventStreamType}, .schema = {.json = "{}"}}}}};
}

void describe_show(ApiOperation& operation) {
  operation.parameters = {{.name = "wait",
                           .help = "ready: answer when the sandbox is up; an error if it cannot be brought up",
                           .schema = R"({"type":"string","enum":["ready"]})"},
                          {.name = "timeout_ms",
                           .help = "Longest wait; after it the answer contains the current state",
                           .schema = R"({"type":"integer","minimum":0,"maximum":600000,"default":30000})"}};
  operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
  operation.problems = {404, 502};
}

void describe_pools(ApiOperation& operation) {
  operation.responses = {answer_of_type<own::PoolList>(200, "All pools of the tenant")};
}

void describe_pool(ApiOperation& operation) {
  operation.responses = {answer_of_type<PoolStatus>(200, "The pool")};
  operation.problems = {404};
}

void describe_key(ApiOperation& operation) {
  operation.responses = {answer_of_type<own::KeyView>(200, "The key")};
}

void describe_token(ApiOperation& operation) {
  operation.request = {body_of_type<own::MakeToken>()};
  operation.request_required = false;
  operation.responses = {answer_of_type<own::TokenView>(201, "The token was created")};
  operation.problems = {404, 409};
}

void describe_preview(ApiOperation& operation) {
  operation.request = {body_of_type<own::MakePreview>()};
  operation.responses = {answer_of_type<own::PreviewView>(201, "The link was created")};
  operation.problems = {404, 501};
}

void describe_extend(ApiOperation& operation) {
  operation.request = {body_of_type<own::ExtendSandbox>()};
  operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
  operation.problems = {404, 409};
}

void describe_network(ApiOperation& operation) {
  operation.responses = {answer_of_type<own::NetworkView>(200, "What the sandbox may reach")};
  operation.problems = {404, 501};
}

void describe_new_network(ApiOperation& operation) {
  operation.request = {body_of_type<own::NetworkView>()};
  describe_network(operation);
}

void describe_network_change(ApiOperation& operation) {
  operation.description = "Of several changes at the same time none is lost. A name that is removed must be there.";
  operation.request = {body_of_type<own::NetworkChange>()};
  describe_network(operation);
}

void describe_network_log(ApiOperation& operation) {
  operation.description =
      "Events `line`, each with a JSON object as `skiff egress log` has it: first the newest ones, at most 128 KiB, "
      "and then each new one, until the sandbox is removed. The verdict `missing` says that lines were left out. "
      "`error`, a problem, is the last event: the log cannot be read, the key has ended, or this server stops.";
  operation.responses = {
      {.status = 200,
       .description = "A stream of events",
       .bodies = {{.content_type = std::string{protocol::kEventStreamType}, .schema = {.json = "{}"}}}}};
  operation.problems = {404, 501};
}

void describe_stop(ApiOperation& operation) {
  operation.request = {body_of_type<own::StopSandbox>()};
  operation.request_required = false;
  operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
  operation.problems = {404, 409, 501};
}

void describe_removal(ApiOperation& operation) {
  operation.parameters = {
      {.name = "uid", .help = "Remove only the sandbox with this uid, and not another one with its name"},
      {.name = "state",
       .help = "Remove the sandbox only while it is in this state",
       .schema = R"({"type":"string","enum":["creating","running","stopped","ended","failed"]})"},
      {.name = "grace_ms",
       .help = "How long processes may take to end by themselves",
       .schema = R"({"type":"integer","minimum":0,"maximum":300000,"default":2000})"},
      {.name = "Idempotency-Key",
       .in = ApiParameter::In::header,
       .help = "Remove only the sandbox that was created with this key: undoes a creation whose answer was lost"}};
  operation.responses = {{.status = 204, .description = "The sandbox is removed completely"}};
  operation.problems = {404, 501};
}

void describe_start(ApiOperation& operation) {
  operation.responses = {answer_of_type<own::SandboxView>(200, "The sandbox")};
  operation.problems = {404, 409};
}

void describe_done(ApiOperation& operation) {
  operation.responses = {{.status = 200, .description = "Done"}};
}

void describe_e2b_answer(ApiOperation& operation, unsigned status) {
  ApiResponse response{.status = status, .description = "The answer of E2B's API"};
  if (status != kNoContent) response.bodies = {{.content_type = std::string{kJsonType}}};
  operation.responses.push_back(std::move(response));
}

template <unsigned... kStatuses>
void answers(ApiOperation& operation) {
  (describe_e2b_answer(operation, kStatuses), ...);
}

void refuses(ApiOperation& operation) {
  operation.problems = {501};
}

constexpr std::string_view kNotOffered = "Not supported";

constexpr Route row(std::string_view tag, std::string_view method, std::string_view path, std::optional<KeyScope> scope,
                    Body body, Handler handler, void (*describe)(ApiOperation&), std::string_view summary) {
  return {.method = method,
          .path = path,
          .summary = summary,
          .tag = tag,
          .scope = scope,
          .body = body,
          .handler = handler,
          .describe = describe};
}

constexpr auto kNone = Body::none;
constexpr auto kJson = Body::json;
constexpr auto kOwn = kOwnTag;
constexpr auto kE2b = kE2bTag;

// clang-format off
constexpr Route kRoutes[] = {
    row(kOwn, "GET",    "/healthz",                       {},     kNone, &own::health,         &describe_done,     "Check that this process is alive"),
    row(kOwn, "GET",    "/readyz",                        {},     kNone, &own::ready,          &describe_done,     "Check that this process accepts requests"),
    row(kOwn, "GET",    "/openapi.json",                  {},     kNone, &own::describe_api,   &describe_done,     "Show this document"),
    row(kOwn, "GET",    "/metrics",                       admin,  kNone, &own::show_metrics,   &describe_done,     "Show the metrics of this process, for Prometheus"),
    row(kOwn, "GET",    "/v1/me",                         use,    kNone, &own::show_key,       &describe_key,      "Show the API key's name, tenant, scopes and limits"),
    row(kOwn, "POST",   "/v1/sandboxes",                  create, kJson, &own::create,         &describe_create,   "Create a sandbox, and wait until it is up"),
    row(kOwn, "GET",    "/v1/sandboxes",                  use,    kNone, &own::list,           &describe_list,     "List sandboxes"),
    row(kOwn, "GET",    "/v1/events",                     use,    kNone, &own::stream_list,    &describe_list_events, "Stream the list of sandboxes and its changes, as server-sent events"),
    row(kOwn, "GET",    "/v1/sandboxes/{id}",             use,    kNone, &own::show,           &describe_show,     "Show a sandbox, or wait until it is up"),
    row(kOwn, "GET",    "/v1/sandboxes/{id}/events",      use,    kNone, &own::stream_events,  &describe_events,   "Stream the steps until the sandbox is up, as server-sent events"),
    row(kOwn, "DELETE", "/v1/sandboxes/{id}",             create, kNone, &own::remove,         &describe_removal,  "Remove a sandbox with its files"),
    row(kOwn, "POST",   "/v1/sandboxes/{id}/stop",        create, kJson, &own::stop,           &describe_stop,     "Stop a sandbox and keep its files"),
    row(kOwn, "POST",   "/v1/sandboxes/{id}/start",       create, kNone, &own::start,          &describe_start,    "Start a stopped sandbox again"),
    row(kOwn, "POST",   "/v1/sandboxes/{id}/extend",      create, kJson, &own::extend,         &describe_extend,   "Renew the lease of a sandbox"),
    row(kOwn, "GET",    "/v1/sandboxes/{id}/network",     use,    kNone, &own::show_network,   &describe_network,  "Show the names that a sandbox with egress by name may reach"),
    row(kOwn, "PUT",    "/v1/sandboxes/{id}/network",     create, kJson, &own::set_network,    &describe_new_network, "Replace the names that a sandbox with egress by name may reach"),
    row(kOwn, "PATCH",  "/v1/sandboxes/{id}/network",     create, kJson, &own::change_network, &describe_network_change, "Add names that a sandbox with egress by name may reach, or remove some"),
    row(kOwn, "GET",    "/v1/sandboxes/{id}/network/log", use,    kNone, &own::stream_network_log, &describe_network_log, "Stream what a sandbox with egress by name has reached, and what was refused, as server-sent events"),
    row(kOwn, "POST",   "/v1/sandboxes/{id}/tokens",      use,    kJson, &own::create_token,     &describe_token,    "Create a token for the agent of a sandbox"),
    row(kOwn, "POST",   "/v1/sandboxes/{id}/previews",    use,    kJson, &own::create_preview,   &describe_preview,  "Create a link that opens a port of the sandbox in a browser"),
    row(kOwn, "GET",    "/v1/pools",                      use,    kNone, &own::list_pools,     &describe_pools,    "List pools of prestarted sandboxes"),
    row(kOwn, "GET",    "/v1/pools/{id}",                 use,    kNone, &own::show_pool,      &describe_pool,     "Show a pool"),

    row(kE2b, "POST",   "/sandboxes",                     create, kJson, &e2b::create,         &answers<201>,      "Create a sandbox"),
    row(kE2b, "POST",   "/v2/sandboxes",                  create, kJson, &e2b::create,         &answers<201>,      "Create a sandbox"),
    row(kE2b, "GET",    "/sandboxes",                     use,    kNone, &e2b::list_running,   &answers<200>,      "List running sandboxes"),
    row(kE2b, "GET",    "/v2/sandboxes",                  use,    kNone, &e2b::list,           &answers<200>,      "List sandboxes"),
    row(kE2b, "GET",    "/sandboxes/{id}",                use,    kNone, &e2b::show,           &answers<200>,      "Show a sandbox"),
    row(kE2b, "DELETE", "/sandboxes/{id}",                create, kNone, &e2b::kill,           &answers<204>,      "Remove a sandbox with its files"),
    row(kE2b, "POST",   "/sandboxes/{id}/timeout",        create, kJson, &e2b::set_timeout,    &answers<204>,      "Set the lease of a sandbox"),
    row(kE2b, "POST",   "/sandboxes/{id}/refreshes",      create, kJson, &e2b::refresh,        &answers<204>,      "Extend the lease of a sandbox"),
    row(kE2b, "POST",   "/sandboxes/{id}/connect",        use,    kJson, &e2b::connect,        &answers<200, 201>, "Return how to reach a sandbox; start it if it is paused"),
    row(kE2b, "POST",   "/v2/sandboxes/{id}/connect",     use,    kJson, &e2b::connect,        &answers<200, 201>, "Return how to reach a sandbox; start it if it is paused"),
    row(kE2b, "POST",   "/sandboxes/{id}/pause",          create, kJson, &e2b::pause,          &answers<204>,      "Stop a sandbox and keep its files"),
    row(kE2b, "POST",   "/sandboxes/{id}/resume",         create, kJson, &e2b::resume,         &answers<201>,      "Start a paused sandbox again"),
    row(kE2b, "GET",    "/sandboxes/{id}/metrics",        use,    kNone, &e2b::metrics,        &answers<200>,      "Show the resources that a sandbox uses"),
    row(kE2b, "GET",    "/sandboxes/{id}/logs",           use,    kNone, &e2b::log_lines,      &answers<200>,      "Show the recent output of a sandbox's commands"),
    row(kE2b, "GET",    "/v2/sandboxes/{id}/logs",        use,    kNone, &e2b::logs,           &answers<200>,      "Show the recent output of a sandbox's commands"),
    row(kE2b, "PUT",    "/sandboxes/{id}/network",        create, kJson, &e2b::set_network,    &answers<204>,      "Replace what a sandbox may reach"),
    row(kE2b, "POST",   "/sandboxes/{id}/snapshots",      create, kJson, &e2b::refuse_memory,  &refuses,           kNotOffered),
    row(kE2b, "POST",   "/sandboxes/{id}/fork",           create, kJson, &e2b::refuse_memory,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/snapshots",                     use,    kNone, &e2b::refuse_memory,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/templates",                     use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "POST",   "/templates",                     use,    kJson, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "POST",   "/v2/templates",                  use,    kJson, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "POST",   "/v3/templates",                  use,    kJson, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/v2/templates",                  use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/templates/aliases/{id}",        use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/templates/{id}",                use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "POST",   "/templates/{id}",                use,    kJson, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "DELETE", "/templates/{id}",                use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/templates/{id}/tags",           use,    kNone, &e2b::refuse_builds,  &refuses,           kNotOffered),
    row(kE2b, "GET",    "/volumes",                       use,    kNone, &e2b::refuse_volumes, &refuses,           kNotOffered),
    row(kE2b, "POST",   "/volumes",                       use,    kJson, &e2b::refuse_volumes, &refuses,           kNotOffered),
    row(kE2b, "GET",    "/volumes/{id}",                  use,    kNone, &e2b::refuse_volumes, &refuses,           kNotOffered),
    row(kE2b, "DELETE", "/volumes/{id}",                  use,    kNone, &e2b::refuse_volumes, &refuses,           kNotOffered),
    row(kE2b, "GET",    "/secrets",                       use,    kNone, &e2b::refuse_secrets, &refuses,           kNotOffered),
    row(kE2b, "POST",   "/secrets",                       use,    kJson, &e2b::refuse_secrets, &refuses,           kNotOffered),
    row(kE2b, "GET",    "/secrets/{id}",                  use,    kNone, &e2b::refuse_secrets, &refuses,           kNotOffered),
    row(kE2b, "POST",   "/secrets/{id}",                  use,    kJson, &e2b::refuse_secrets, &refuses,           kNotOffered),
    row(kE2b, "DELETE", "/secrets/{id}",                  use,    kNone, &e2b::refuse_secrets, &refuses,           kNotOffered),
};
// clang-format on

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

protocol::service::Match find_route(const protocol::HttpRequest& request) {
  static const protocol::service::Router router{kRoutes, {.head_as_get = false}};
  return router.match(request.method, protocol::service::decoded_segments(request.target));
}

}  // namespace skiff::container::serve
