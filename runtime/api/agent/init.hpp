#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Assignment of a prestarted sandbox to a client, and its lease.
namespace skiff::runtime::api {

/// POST /v1/init, once. It checks the whole request before it changes anything. Errors: already_initialised.
[[nodiscard]] Task<Result<>> initialise(Call& call);
/// POST /v1/lease.
[[nodiscard]] Task<Result<>> renew_lease(Call& call);

/// The lease of the sandbox, for all answers that contain it.
[[nodiscard]] const Answer<Activity>& lease_answer();
/// The answer of POST /v1/init: the result of the setup command or null, as JSON, and the lease.
struct Initialised {
  std::string_view setup;
  const Activity& activity;
};
[[nodiscard]] const Answer<Initialised>& init_answer();
/// The answer of POST /v1/lease.
[[nodiscard]] const Answer<Activity>& renewed_answer();

}  // namespace skiff::runtime::api
