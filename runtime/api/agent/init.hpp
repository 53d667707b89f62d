#pragma once

#include "runtime/api/call.hpp"

/// Late binding of a warm sandbox, and how long it lives.
namespace skiff::runtime::api {

/// POST /v1/init, once. All of the request is checked before anything is changed. Errors: already_initialised.
[[nodiscard]] Task<Result<>> initialise(Call& call);
/// POST /v1/lease.
[[nodiscard]] Task<Result<>> renew_lease(Call& call);

/// `"lease":{ttl_ms,expires_at,idle_ttl_ms}`, null where there is no limit; also for /v1/activity.
void append_lease(std::string& out, const Activity& activity);

}  // namespace skiff::runtime::api
