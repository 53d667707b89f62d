#pragma once

#include "runtime/api/call.hpp"

/// Handlers for people: /v1/run and /v1/shell. Both are views of the command API.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> run_script(Call& call);
[[nodiscard]] Task<Result<>> open_shell(Call& call);

}  // namespace skiff::runtime::api
