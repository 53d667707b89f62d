#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Handlers for the agent itself.
namespace skiff::runtime::api {

/// `GET /`: for people who open the address that the agent printed. It needs no credential, so it tells nothing about
/// the sandbox.
[[nodiscard]] Task<Result<>> introduce(Call& call);
[[nodiscard]] Task<Result<>> healthz(Call& call);
[[nodiscard]] Task<Result<>> readyz(Call& call);
[[nodiscard]] Task<Result<>> show_version(Call& call);
[[nodiscard]] Task<Result<>> show_capabilities(Call& call);
[[nodiscard]] Task<Result<>> show_openapi(Call& call);
[[nodiscard]] Task<Result<>> show_asyncapi(Call& call);

// Answers of these handlers.
[[nodiscard]] const Answer<Agent>& introduction_answer();
[[nodiscard]] const Answer<Agent>& version_answer();
[[nodiscard]] const Answer<Agent>& capabilities_answer();

}  // namespace skiff::runtime::api
