#pragma once

#include "runtime/api/call.hpp"

/// Handlers about the agent itself.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> healthz(Call& call);
[[nodiscard]] Task<Result<>> readyz(Call& call);
[[nodiscard]] Task<Result<>> show_version(Call& call);
[[nodiscard]] Task<Result<>> show_capabilities(Call& call);
[[nodiscard]] Task<Result<>> show_openapi(Call& call);

}  // namespace skiff::runtime::api
