#pragma once

#include "runtime/api/call.hpp"

/// Handlers of /v1/run and /v1/shell, which people use by hand. Both use the command API.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> run_script(Call& call);
[[nodiscard]] Task<Result<>> open_shell(Call& call);

}  // namespace skiff::runtime::api
