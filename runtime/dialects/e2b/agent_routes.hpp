#pragma once

#include "runtime/dialects/e2b/state.hpp"

/// The routes of E2B's agent about the agent itself.
namespace skiff::runtime::dialects::e2b {

/// Answers GET /health with 204.
[[nodiscard]] Task<Result<>> tell_health(Call* call);
/// Answers GET /metrics with what the container uses of its CPU, memory and disk.
[[nodiscard]] Task<Result<>> tell_metrics(Call* call);
/// Answers GET /envs with the variables that /init has set.
[[nodiscard]] Task<Result<>> tell_envs(Call* call);
/// Handles POST /init, which sets the token, variables, the default user and the default directory. Once there is a
/// token, a call must show it, in X-Access-Token or in the message. Nothing is changed unless the whole message is
/// valid.
[[nodiscard]] Task<Result<>> initialise(Call* call);

}  // namespace skiff::runtime::dialects::e2b
