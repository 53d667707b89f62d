#pragma once

#include "runtime/api/call.hpp"

/// Handlers of /v1/sessions.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> create_session(Call& call);
[[nodiscard]] Task<Result<>> put_session(Call& call);
[[nodiscard]] Task<Result<>> list_sessions(Call& call);
[[nodiscard]] Task<Result<>> show_session(Call& call);
[[nodiscard]] Task<Result<>> patch_session(Call& call);
[[nodiscard]] Task<Result<>> delete_session(Call& call);
[[nodiscard]] Task<Result<>> list_processes(Call& call);
[[nodiscard]] Task<Result<>> wait_for_condition(Call& call);

}  // namespace skiff::runtime::api
