#pragma once

#include "runtime/api/call.hpp"
#include "runtime/api/code/code_requests.hpp"
#include "runtime/api/code/contexts.hpp"

/// Handlers of /v1/sessions/{sid}/code and the routes below it.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> run_code(Call& call);
[[nodiscard]] Task<Result<>> list_code_contexts(Call& call);
[[nodiscard]] Task<Result<>> create_code_context(Call& call);
[[nodiscard]] Task<Result<>> delete_code_context(Call& call);
[[nodiscard]] Task<Result<>> restart_code_context(Call& call);

/// A context as routes show it.
[[nodiscard]] CodeContextShown shown(const CodeContext& context);

}  // namespace skiff::runtime::api
