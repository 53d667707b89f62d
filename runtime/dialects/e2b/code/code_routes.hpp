#pragma once

#include "runtime/dialects/e2b/state.hpp"

/// The routes of E2B's code interpreter, whose clients look for them on port 49999 of a sandbox.
namespace skiff::runtime::dialects::e2b {

/// Handles POST /execute: runs code, and answers with a line of JSON for each thing that it shows.
[[nodiscard]] Task<Result<>> execute_code(Call* call);
/// Answers GET /contexts with the contexts of the default session.
[[nodiscard]] Task<Result<>> tell_contexts(Call* call);
/// Handles POST /contexts.
[[nodiscard]] Task<Result<>> create_context(Call* call);
/// Handles DELETE /contexts/{id}.
[[nodiscard]] Task<Result<>> remove_context(Call* call);
/// Handles POST /contexts/{id}/restart.
[[nodiscard]] Task<Result<>> restart_context(Call* call);

}  // namespace skiff::runtime::dialects::e2b
