#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Handlers about the agent itself.
namespace skiff::runtime::api {

/// `GET /`: for whoever follows the address that the agent has printed. Open, so it says nothing about the sandbox.
[[nodiscard]] Task<Result<>> introduce(Call& call);
[[nodiscard]] Task<Result<>> healthz(Call& call);
[[nodiscard]] Task<Result<>> readyz(Call& call);
[[nodiscard]] Task<Result<>> show_version(Call& call);
[[nodiscard]] Task<Result<>> show_capabilities(Call& call);
[[nodiscard]] Task<Result<>> show_openapi(Call& call);
[[nodiscard]] Task<Result<>> show_asyncapi(Call& call);

// What they answer.
[[nodiscard]] const Answer<Agent>& introduction_answer();
[[nodiscard]] const Answer<Agent>& version_answer();
[[nodiscard]] const Answer<Agent>& capabilities_answer();

}  // namespace skiff::runtime::api
