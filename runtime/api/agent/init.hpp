#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Late binding of a warm sandbox, and how long it lives.
namespace skiff::runtime::api {

/// POST /v1/init, once. All of the request is checked before anything is changed. Errors: already_initialised.
[[nodiscard]] Task<Result<>> initialise(Call& call);
/// POST /v1/lease.
[[nodiscard]] Task<Result<>> renew_lease(Call& call);

/// How long the sandbox lives, as in each answer that says it.
[[nodiscard]] const Answer<Activity>& lease_answer();
/// What POST /v1/init answers: the result of the setup command or null, as JSON, and the lease.
struct Initialised {
  std::string_view setup;
  const Activity& activity;
};
[[nodiscard]] const Answer<Initialised>& init_answer();
/// What POST /v1/lease answers.
[[nodiscard]] const Answer<Activity>& renewed_answer();

}  // namespace skiff::runtime::api
