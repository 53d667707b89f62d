#pragma once

#include "base/async/task.hpp"
#include "fs/content/write.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::dialects::e2b {

/// Writes what a request's body, compressed by gzip, stands for; it is for the caller to commit. Errors: those of the
/// body and of the writer; malformed_archive for what is not whole, resource_exhausted when too many transfers go on.
[[nodiscard]] Task<Result<>> store_gunzipped(Agent* agent, protocol::HttpExchange* http, fs::Writer* writer);

}  // namespace skiff::runtime::dialects::e2b
