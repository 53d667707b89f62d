#include "runtime/api/code_route_table.hpp"

#include <array>

#include "runtime/api/code/code_routes.hpp"
#include "runtime/api/openapi/operations.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::array kCodeRoutes{
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/code",
          .operation_id = "runCode",
          .summary = "Run code in a context that keeps its variables",
          .tag = "code",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = run_code,
          .describe = describe_run_code},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/code/contexts",
          .operation_id = "listCodeContexts",
          .summary = "List the contexts of a session",
          .tag = "code",
          .scope = Scope::read,
          .handler = list_code_contexts,
          .describe = describe_code_contexts},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/code/contexts",
          .operation_id = "createCodeContext",
          .summary = "Create a context; its process starts with the first call",
          .tag = "code",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_code_context,
          .describe = describe_create_code_context},
    Route{.method = "DELETE",
          .path = "/v1/sessions/{sid}/code/contexts/{xid}",
          .operation_id = "deleteCodeContext",
          .summary = "End a context with its process tree, then forget it",
          .tag = "code",
          .scope = Scope::exec,
          .handler = delete_code_context,
          .describe = describe_delete_code_context},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/code/contexts/{xid}/restart",
          .operation_id = "restartCodeContext",
          .summary = "End the process tree of a context; the next call starts a new one",
          .tag = "code",
          .scope = Scope::exec,
          .handler = restart_code_context,
          .describe = describe_delete_code_context},
};

}  // namespace

std::span<const Route> code_route_table() {
  return kCodeRoutes;
}

}  // namespace skiff::runtime::api
